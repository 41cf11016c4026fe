"""Learn to reach a goal by double Q-learning with a replay memory and a slowly moving target network."""

import copy

import torch
from torch import nn


class Reaching:
    """Many points at once, each with obstacles around it, that are to be pushed to their goals."""

    def __init__(self, count):
        self.moves = torch.tensor([[x, y] for x in (-1.0, 0.0, 1.0) for y in (-1.0, 0.0, 1.0)]) * 0.05
        self.place, self.goal = torch.rand(count, 2), torch.rand(count, 2)
        self.around = torch.rand(count, 20)

    def observe(self):
        return torch.cat((self.place, self.goal, self.around), dim=1)

    def act(self, actions):
        self.place = (self.place + self.moves[actions]).clamp(0, 1)
        distance = (self.place - self.goal).norm(dim=1)
        done = distance < 0.05
        fresh = torch.rand_like(self.goal)
        self.goal = torch.where(done[:, None], fresh, self.goal)
        return -distance + done.float(), done


class Memory:
    def __init__(self, size, width):
        self.before, self.after = torch.zeros(size, width), torch.zeros(size, width)
        self.actions, self.rewards = torch.zeros(size, dtype=torch.long), torch.zeros(size)
        self.done, self.size, self.head, self.filled = torch.zeros(size), size, 0, 0

    def add(self, before, actions, rewards, after, done):
        rows = (torch.arange(len(before)) + self.head) % self.size
        self.before[rows], self.after[rows], self.actions[rows] = before, after, actions
        self.rewards[rows], self.done[rows] = rewards, done.float()
        self.head = (self.head + len(before)) % self.size
        self.filled = min(self.size, self.filled + len(before))

    def draw(self, count):
        rows = torch.randint(self.filled, (count,))
        return self.before[rows], self.actions[rows], self.rewards[rows], self.after[rows], self.done[rows]


world, memory = Reaching(32), Memory(50_000, 24)
values = nn.Sequential(nn.Linear(24, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 9))
target = copy.deepcopy(values).requires_grad_(False)
optimizer = torch.optim.Adam(values.parameters(), lr=3e-4)
step, state = 0, world.observe()
while True:
    with torch.no_grad():
        greedy = values(state).argmax(1)
        actions = torch.where(torch.rand(32) < 0.1, torch.randint(9, (32,)), greedy)
        rewards, done = world.act(actions)
        following = world.observe()
        memory.add(state, actions, rewards, following, done)
        state = following
        before, actions, rewards, after, done = memory.draw(768)
        best = values(after).argmax(1, keepdim=True)
        wanted = rewards + 0.97 * (1 - done) * target(after).gather(1, best).squeeze(1)
    guessed = values(before).gather(1, actions[:, None]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(guessed, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch._foreach_lerp_(list(target.parameters()), [p.detach() for p in values.parameters()], 0.005)
    if (step := step + 1) % 100 == 0:
        print(f"step {step} loss {loss.item():.4f} filled {memory.filled}", flush=True)
