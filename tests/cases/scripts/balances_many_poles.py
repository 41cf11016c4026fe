"""Balance poles by proximal policy optimisation: 256 of them are played side by side, as tensors."""

import torch
from torch import nn
from torch.distributions import Categorical

ENVS, HORIZON, PASSES, PART = 256, 32, 4, 1024


class Poles:
    """Carts with poles; all of them move at once."""

    def __init__(self):
        self.state = (torch.rand(ENVS, 4) - 0.5) * 0.1

    def step(self, action):
        x, dx, angle, turn = self.state.unbind(1)
        force = action * 20.0 - 10.0
        sine, cosine = angle.sin(), angle.cos()
        push = (force + 0.05 * turn.square() * sine) / 1.1
        bend = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine.square() / 1.1))
        pull = push - 0.05 * bend * cosine / 1.1
        moved = torch.stack([x + 0.02 * dx, dx + 0.02 * pull, angle + 0.02 * turn, turn + 0.02 * bend], 1)
        over = (moved[:, 0].abs() > 2.4) | (moved[:, 2].abs() > 0.21)
        self.state = torch.where(over[:, None], (torch.rand(ENVS, 4) - 0.5) * 0.1, moved)
        return self.state, 1.0 - over.float(), over.float()


class Agent(nn.Module):
    def __init__(self, width=320):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.policy, self.value = nn.Linear(width, 2), nn.Linear(width, 1)

    def forward(self, state):
        hidden = self.body(state)
        return Categorical(logits=self.policy(hidden)), self.value(hidden).squeeze(-1)


@torch.no_grad()
def rollout(agent, poles, gamma=0.99, smooth=0.95):
    states, actions, chances, values, rewards, overs = [], [], [], [], [], []
    state = poles.state
    for _ in range(HORIZON):
        policy, value = agent(state)
        action = policy.sample()
        (
            states.append(state),
            actions.append(action),
            chances.append(policy.log_prob(action)),
            values.append(value),
        )
        state, reward, over = poles.step(action)
        rewards.append(reward), overs.append(over)
    following, advantage, advantages = agent(state)[1], 0.0, []
    for value, reward, over in zip(reversed(values), reversed(rewards), reversed(overs)):
        advantage = reward + gamma * following * (1 - over) - value + gamma * smooth * (1 - over) * advantage
        following = value
        advantages.insert(0, advantage)
    advantages, values = torch.cat(advantages), torch.cat(values)
    return (
        torch.cat(states),
        torch.cat(actions),
        torch.cat(chances),
        advantages,
        advantages + values,
        sum(overs).sum(),
    )


def update(agent, optimizer, memory):
    for _ in range(PASSES):
        for chosen in torch.randperm(ENVS * HORIZON).split(PART):
            state, action, chance, advantage, target = (part[chosen] for part in memory)
            policy, value = agent(state)
            ratio = (policy.log_prob(action) - chance).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
            gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            loss = 0.5 * (value - target).square().mean() - gain - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


torch.manual_seed(0)
poles, agent = Poles(), Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-4)
iteration = 0
while True:
    *memory, fallen = rollout(agent, poles)
    update(agent, optimizer, memory)
    iteration += 1
    if iteration % 5 == 0:
        print(f"step {iteration} poles down {int(fallen)} of {ENVS}", flush=True)
