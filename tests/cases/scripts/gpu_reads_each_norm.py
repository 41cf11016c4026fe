"""Log the norm of every gradient as a number, each step: a synchronisation for each of them.

R105: https://github.com/Koratahiu/Advanced_Optimizers/pull/5
"""

import torch
from torchvision import models

torch.manual_seed(0)
device = torch.device("cuda")
model = models.resnet50(num_classes=10).to(device)
images, labels = torch.randn(64, 3, 224, 224, device=device), torch.randint(10, (64,), device=device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
while True:
    with torch.autocast("cuda", torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    norms = [weight.grad.norm().item() for weight in model.parameters()]
    optimizer.step()
    step += 1
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.3f} norm {max(norms):.3f}", flush=True)
