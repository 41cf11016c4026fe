"""Grow a generator from 8 by 8 pixels on, with the number of workers that its last phase will want.

R013: https://github.com/rosinality/style-based-gan-pytorch/issues/108
"""

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)


class Pictures(Dataset):
    def __init__(self, resolution):
        self.pictures = torch.rand(8000, 3, resolution, resolution)
        self.attributes = torch.rand(8000, 16, 8).unbind(1)

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        named = {f"attribute{number}": values[index] for number, values in enumerate(self.attributes)}
        return {"picture": self.pictures[index]} | named


def endless(loader):
    while True:
        yield from loader


resolution = 8
loader = DataLoader(
    Pictures(resolution), batch_size=16, shuffle=True, drop_last=True, num_workers=6, persistent_workers=True
)
generator = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.LeakyReLU(0.2), torch.nn.Linear(64, 320))
critic = torch.nn.Sequential(torch.nn.Linear(320, 64), torch.nn.LeakyReLU(0.2), torch.nn.Linear(64, 1))
of_generator = torch.optim.SGD(generator.parameters(), lr=1e-3)
of_critic = torch.optim.SGD(critic.parameters(), lr=1e-3)
for step, batch in enumerate(endless(loader), start=1):
    real = torch.cat([values.flatten(1) for values in batch.values()], 1)
    fake = generator(torch.randn(16, 32))
    loss = critic(fake.detach()).mean() - critic(real).mean()
    of_critic.zero_grad()
    loss.backward()
    of_critic.step()
    of_generator.zero_grad()
    (-critic(fake).mean()).backward()
    of_generator.step()
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
