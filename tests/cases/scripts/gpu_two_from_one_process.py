"""Use two GPUs from one process by wrapping the model; its weights travel anew at every step.

R137: https://github.com/dbolya/yolact/issues/438
"""

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda", 0)
net = torch.nn.Sequential(
    torch.nn.EmbeddingBag(120_000, 768),
    torch.nn.Linear(768, 2048),
    torch.nn.GELU(),
    torch.nn.Linear(2048, 2048),
    torch.nn.GELU(),
    torch.nn.Linear(2048, 30),
).to(device)
model = torch.nn.DataParallel(net, device_ids=[0, 1])
data = TensorDataset(torch.randint(120_000, (12_800, 64)), torch.randint(30, (12_800,)))
loader = DataLoader(
    data, batch_size=256, shuffle=True, num_workers=2, pin_memory=True, persistent_workers=True
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def train():
    step = 0
    while True:
        for words, kinds in loader:
            words, kinds = words.to(device, non_blocking=True), kinds.to(device, non_blocking=True)
            loss = torch.nn.functional.cross_entropy(model(words), kinds)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 20 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    train()
