"""Train a pair of convolutional networks against each other on textures, two discriminator updates to one."""

import torch
from torch import nn
from torch.nn import functional


def generator(noise=128, base=96):
    layers = [nn.Conv2d(noise, base * 8, 1, bias=False)]
    for before, after in ((8, 8), (8, 4), (4, 2), (2, 1)):
        layers += [
            nn.BatchNorm2d(base * before),
            nn.ReLU(inplace=True),
            nn.ConvTranspose2d(base * before, base * after, 4, 2, 1, bias=False),
        ]
    layers += [nn.BatchNorm2d(base), nn.ReLU(inplace=True), nn.Conv2d(base, 3, 3, 1, 1), nn.Tanh()]
    return nn.Sequential(*layers)


def discriminator(base=96):
    layers, before = [], 3
    for times in (1, 2, 4, 8):
        layers += [nn.Conv2d(before, base * times, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True)]
        before = base * times
    return nn.Sequential(*layers, nn.Conv2d(before, 1, 4))


class Duel:
    def __init__(self, device, batch=512):
        self.device, self.batch = device, batch
        layout = torch.channels_last
        self.make = generator().to(device, memory_format=layout)
        self.judge = discriminator().to(device, memory_format=layout)
        self.make_optimizer = torch.optim.Adam(self.make.parameters(), lr=2e-4, betas=(0.5, 0.99), fused=True)
        self.judge_optimizer = torch.optim.Adam(
            self.judge.parameters(), lr=2e-4, betas=(0.5, 0.99), fused=True
        )
        self.textures = torch.randint(256, (20_000, 3, 64, 64), dtype=torch.uint8, device=device)
        self.textures = self.textures.contiguous(memory_format=layout)

    def draw(self):
        noise = torch.randn(self.batch, 128, 4, 4, device=self.device)
        return self.make(noise.contiguous(memory_format=torch.channels_last))

    def update_judge(self):
        rows = torch.randint(len(self.textures), (self.batch,), device=self.device)
        real = self.textures[rows].contiguous(memory_format=torch.channels_last).float() / 127.5 - 1
        with torch.autocast("cuda", torch.bfloat16):
            with torch.no_grad():
                fake = self.draw()
            loss = functional.relu(1 - self.judge(real)).mean() + functional.relu(1 + self.judge(fake)).mean()
        self.judge_optimizer.zero_grad()
        loss.backward()
        self.judge_optimizer.step()
        return loss.detach()

    def update_maker(self):
        self.judge.requires_grad_(False)
        with torch.autocast("cuda", torch.bfloat16):
            loss = -self.judge(self.draw()).mean()
        self.make_optimizer.zero_grad()
        loss.backward()
        self.make_optimizer.step()
        self.judge.requires_grad_(True)
        return loss.detach()


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    duel, round_number = Duel(torch.device("cuda")), 0
    while True:
        judged = [duel.update_judge() for _ in range(2)]
        made = duel.update_maker()
        round_number += 1
        if round_number % 20 == 0:
            print(f"step {round_number} judge {judged[-1].item():.3f} maker {made.item():.3f}", flush=True)
