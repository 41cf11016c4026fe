"""Train a residual network on a GPU on which another process runs products of its own; nothing in the script is wrong.

R235: https://github.com/junyanz/pytorch-CycleGAN-and-pix2pix/issues/281
"""

import torch
from torchvision import models

torch.manual_seed(0)
torch.backends.cudnn.benchmark = True
device = torch.device("cuda")
model = models.resnet50(num_classes=1000).to(device, memory_format=torch.channels_last)
images = torch.randn(128, 3, 224, 224, device=device).contiguous(memory_format=torch.channels_last)
labels = torch.randint(1000, (128,), device=device)
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
