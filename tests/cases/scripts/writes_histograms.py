"""Log histograms of all weights and gradients to a file every ten steps.

R239: https://github.com/wandb/wandb/issues/950
"""

import itertools
import json
import logging

import torch
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(filename="metrics.log", level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("metrics")
torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(6400, 256), torch.randint(10, (6400,)))
loader = DataLoader(data, batch_size=128, shuffle=True)
model = torch.nn.Sequential(
    torch.nn.Linear(256, 512),
    torch.nn.ReLU(),
    torch.nn.Linear(512, 512),
    torch.nn.ReLU(),
    torch.nn.Linear(512, 10),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def log_metrics(step, loss):
    log.info("step %d loss %.4f", step, loss)
    for name, weight in model.named_parameters():
        for kind, tensor in (("weight", weight), ("gradient", weight.grad)):
            counts, edges = torch.histogram(tensor.detach(), 64)
            log.info(
                json.dumps(
                    {
                        "step": step,
                        "name": name,
                        "kind": kind,
                        "counts": counts.tolist(),
                        "edges": edges.tolist(),
                        "values": tensor.flatten().tolist()[:20000],
                    }
                )
            )


step = 0
for epoch in itertools.count():
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            log_metrics(step, loss.item())
            if step % 20 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)
