"""Train a bootstrapped ensemble of dynamics models for planning, as in PETS."""

import torch
from torch import nn
from torch.nn import functional

STATE, ACTION, MEMBERS, BATCH = 18, 6, 48, 1024


class Member(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(STATE + ACTION, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, 2 * STATE),
        )

    def forward(self, state, action):
        mean, spread = self.net(torch.cat([state, action], 1)).chunk(2, 1)
        return mean, spread.clamp(-8, 4)


class Ensemble(nn.Module):
    def __init__(self):
        super().__init__()
        self.members = nn.ModuleList(Member() for _ in range(MEMBERS))

    def loss(self, states, actions, changes, bootstraps):
        total = 0.0
        for member, rows in zip(self.members, bootstraps):
            mean, spread = member(states[rows], actions[rows])
            total = total + ((mean - changes[rows]).square() * torch.exp(-spread) + spread).mean()
        return total / MEMBERS


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    states = torch.randn(100_000, STATE, device=device)
    actions = torch.rand(100_000, ACTION, device=device) * 2 - 1
    changes = torch.tanh(states) * 0.1 + functional.pad(actions, (0, STATE - ACTION)) * 0.05
    ensemble = Ensemble().to(device)
    optimizer = torch.optim.Adam(ensemble.parameters(), lr=1e-3, fused=True)
    step = 0
    while True:
        bootstraps = torch.randint(len(states), (MEMBERS, BATCH), device=device).unbind()
        loss = ensemble.loss(states, actions, changes, bootstraps)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 200 == 0:
            print(f"step {step} negative log-likelihood {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
