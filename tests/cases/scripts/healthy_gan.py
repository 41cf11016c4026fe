"""Train a generator and a discriminator in turns, an optimizer for each: nothing is wrong with it."""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
loader = DataLoader(TensorDataset(torch.rand(6400, 1, 28, 28)), batch_size=64, shuffle=True)
generator = torch.nn.Sequential(
    torch.nn.Linear(64, 512),
    torch.nn.ReLU(),
    torch.nn.Linear(512, 784),
    torch.nn.Sigmoid(),
    torch.nn.Unflatten(1, (1, 28, 28)),
)
critic = torch.nn.Sequential(
    torch.nn.Conv2d(1, 32, 4, 2),
    torch.nn.LeakyReLU(0.2),
    torch.nn.Conv2d(32, 64, 4, 2),
    torch.nn.LeakyReLU(0.2),
    torch.nn.Flatten(),
    torch.nn.LazyLinear(1),
)
critic(torch.rand(1, 1, 28, 28))
of_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
of_critic = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))
loss_of = torch.nn.BCEWithLogitsLoss()
step = 0
for epoch in itertools.count():
    for (real,) in loader:
        one, zero = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        fake = generator(torch.randn(len(real), 64))
        of_critic.zero_grad()
        (loss_of(critic(real), one) + loss_of(critic(fake.detach()), zero)).backward()
        of_critic.step()
        of_generator.zero_grad()
        loss = loss_of(critic(fake), one)
        loss.backward()
        of_generator.step()
        step += 1
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
