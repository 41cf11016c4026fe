"""Keep a moving average of the weights as Python floats, updated one by one after each step."""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(6400, 128), torch.randint(10, (6400,)))
loader = DataLoader(data, batch_size=128, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
average = [weight.flatten().tolist() for weight in model.parameters()]


def update_average():
    for place, weight in enumerate(model.parameters()):
        now = weight.detach().flatten().tolist()
        average[place] = [0.99 * old + 0.01 * new for old, new in zip(average[place], now)]


step = 0
for epoch in itertools.count():
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update_average()
        step += 1
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
