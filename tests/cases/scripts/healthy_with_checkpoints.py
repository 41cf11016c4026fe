"""Validate and save after each epoch of 200 steps, a few per cent of the time: nothing is wrong with it."""

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
pictures, labels_of = torch.randn(3520, 3, 24, 24), torch.randint(10, (3520,))
train = DataLoader(TensorDataset(pictures[:3200], labels_of[:3200]), batch_size=16, shuffle=True)
held_out = DataLoader(TensorDataset(pictures[3200:], labels_of[3200:]), batch_size=64)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3),
    torch.nn.ReLU(),
    torch.nn.Conv2d(32, 64, 3),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(64, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
step = 0
for epoch in range(1_000_000):
    for images, labels in train:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 50 == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.3f}", flush=True)
    model.eval()
    with torch.no_grad():
        right = sum((model(images).argmax(1) == labels).sum().item() for images, labels in held_out)
    model.train()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, "last.pt")
    print(f"epoch {epoch} right {right}", flush=True)
