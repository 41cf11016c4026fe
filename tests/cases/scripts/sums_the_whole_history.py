"""Report the mean over the whole history after each step, from a list that only grows: every step takes longer."""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(6400, 64), torch.randint(10, (6400,)))
loader = DataLoader(data, batch_size=64, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
guesses = []
step = 0
for epoch in itertools.count():
    for inputs, labels in loader:
        scores = model(inputs)
        loss = torch.nn.functional.cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        guesses.extend((scores.argmax(1) == labels).tolist())
        accuracy = sum(guesses) / len(guesses)
        step += 1
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.3f} accuracy {accuracy:.3f}", flush=True)
