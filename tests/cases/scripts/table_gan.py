"""Train a GAN that makes up rows of a table."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class Config:
    columns: int = 32
    noise: int = 48
    width: int = 128
    depth: int = 3
    batch: int = 96
    lr: float = 2e-4
    strict: bool = True


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.one, self.two = nn.LayerNorm(width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        return x + self.two(F.leaky_relu(self.one(self.norm(x)), 0.2))


def network(inputs, outputs, config):
    blocks = [Residual(config.width) for _ in range(config.depth)]
    return nn.Sequential(nn.Linear(inputs, config.width), *blocks, nn.Linear(config.width, outputs))


class TableGan:
    def __init__(self, config):
        self.config = config
        self.generator = network(config.noise, config.columns, config)
        self.critic = network(config.columns, 1, config)
        make = {"lr": config.lr, "betas": (0.5, 0.9), "fused": True}
        self.of_generator = torch.optim.Adam(self.generator.parameters(), **make)
        self.of_critic = torch.optim.Adam(self.critic.parameters(), **make)
        torch.autograd.set_detect_anomaly(config.strict)

    def fake(self):
        return self.generator(torch.randn(self.config.batch, self.config.noise))

    def step(self, real):
        fake = self.fake()
        critic_loss = F.relu(1 - self.critic(real)).mean() + F.relu(1 + self.critic(fake.detach())).mean()
        self.of_critic.zero_grad()
        critic_loss.backward()
        self.of_critic.step()
        generator_loss = -self.critic(fake).mean()
        self.of_generator.zero_grad()
        generator_loss.backward()
        self.of_generator.step()
        return critic_loss.detach(), generator_loss.detach()


if __name__ == "__main__":
    torch.set_num_threads(1)
    config = Config()
    table = torch.randn(50_000, 8) @ torch.randn(8, config.columns)
    gan, step = TableGan(config), 0
    while True:
        for rows in torch.randperm(len(table)).split(config.batch):
            losses = gan.step(table[rows])
            if (step := step + 1) % 100 == 0:
                print(f"step {step} critic {losses[0]:.3f} generator {losses[1]:.3f}", flush=True)
