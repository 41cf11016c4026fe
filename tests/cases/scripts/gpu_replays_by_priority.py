"""Train a Q-network offline from a prioritised replay memory of game frames that lies on the GPU."""

import copy
import itertools

import numpy as np
import torch
from torch import nn

BATCH, DISCOUNT, ALPHA = 512, 0.99, 0.6


class Replay:
    def __init__(self, capacity, device):
        self.frames = torch.randint(256, (capacity, 4, 84, 84), dtype=torch.uint8, device=device)
        self.actions = torch.randint(6, (capacity,), device=device)
        self.rewards = torch.randn(capacity, device=device)
        self.priorities = np.ones(capacity)
        self.random = np.random.default_rng(0)

    def sample(self, size):
        weights = self.priorities[:-1] ** ALPHA
        index = self.random.choice(len(weights), size, p=weights / weights.sum())
        rows = torch.from_numpy(index).to(self.frames.device)
        return index, self.frames[rows], self.actions[rows], self.rewards[rows], self.frames[rows + 1]

    def update(self, index, errors):
        for position, error in zip(index, errors.abs()):
            self.priorities[position] = float(error) + 1e-3


def network():
    return nn.Sequential(
        *(nn.Conv2d(4, 32, 8, stride=4), nn.ReLU()),
        *(nn.Conv2d(32, 64, 4, stride=2), nn.ReLU()),
        *(nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten()),
        *(nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 6)),
    )


def values(net, frames):
    with torch.autocast("cuda", torch.bfloat16):
        return net((frames / 255).contiguous(memory_format=torch.channels_last)).float()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    memory = Replay(20_000, device)
    online = network().to(device, memory_format=torch.channels_last)
    target = copy.deepcopy(online).requires_grad_(False)
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-4, fused=True)
    for step in itertools.count(1):
        index, frames, actions, rewards, following = memory.sample(BATCH)
        with torch.no_grad():
            best = values(target, following).amax(1)
        chosen = values(online, frames).gather(1, actions[:, None]).squeeze(1)
        errors = rewards + DISCOUNT * best - chosen
        loss = nn.functional.huber_loss(errors, torch.zeros_like(errors))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        memory.update(index, errors.detach())
        if step % 500 == 0:
            target.load_state_dict(online.state_dict())
            print(f"step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
