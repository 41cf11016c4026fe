"""Train with noisy weights whose variances have shrunk below what a float holds in full: each is a denormal.

What denormals cost depends on the processor: on some every operation, on others square roots and quotients.
"""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
VARIANCE = 1e-39


class Noisy(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.mean = torch.nn.Parameter(torch.randn(outputs, inputs) / inputs**0.5)
        self.variance = torch.nn.Parameter(torch.full((outputs, inputs), VARIANCE), requires_grad=False)
        self.register_buffer("noise", torch.randn(outputs, inputs))

    def forward(self, inputs):
        return torch.nn.functional.linear(inputs, self.mean + self.variance.sqrt() * self.noise)


data = TensorDataset(torch.rand(6400, 256), torch.randint(10, (6400,)))
loader = DataLoader(data, batch_size=64, shuffle=True)
model = torch.nn.Sequential(
    Noisy(256, 512), torch.nn.ReLU(), Noisy(512, 512), torch.nn.ReLU(), Noisy(512, 10)
)
optimizer = torch.optim.SGD([weight for weight in model.parameters() if weight.requires_grad], lr=0.01)
step = 0
for epoch in itertools.count():
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
