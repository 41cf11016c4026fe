"""Train convolutions in half precision with channels first: each is wrapped in conversions of its layout.

R183: https://github.com/NVIDIA/apex/pull/668
"""

import torch
from torchvision import models

torch.manual_seed(0)
torch.backends.cudnn.benchmark = True
device = torch.device("cuda")
model = models.resnet50(num_classes=1000).to(device)
images, labels = torch.randn(256, 3, 224, 224, device=device), torch.randint(1000, (256,), device=device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
while True:
    with torch.autocast("cuda", torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
