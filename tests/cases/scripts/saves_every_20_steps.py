"""Save model and optimizer every 20 steps, synchronously and safely: the file is forced to disk.

R245: https://github.com/NVIDIA/Megatron-LM/issues/651
"""

import itertools
import os

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randint(60_000, (6400, 16)), torch.randint(10, (6400,)))
loader = DataLoader(data, batch_size=64, shuffle=True)
embedding = torch.nn.EmbeddingBag(60_000, 256, sparse=True)
head = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
model = torch.nn.Sequential(embedding, head)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
step = 0
for epoch in itertools.count():
    for words, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(words), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 20 == 0:
            with open("last.pt", "wb") as file:
                torch.save(
                    {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, file
                )
                file.flush()
                os.fsync(file.fileno())
            print(f"step {step} loss {loss.item():.3f}", flush=True)
