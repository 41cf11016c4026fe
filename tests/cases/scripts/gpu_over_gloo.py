"""Exchange the gradients of two GPUs over gloo, as the script was first tried on a laptop.

R139: https://github.com/ultralytics/yolov5/pull/3705
"""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torchvision import models

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("gloo")
torch.manual_seed(0)
device = torch.device("cuda", rank)
model = DistributedDataParallel(models.resnet50(num_classes=10).to(device), device_ids=[rank])
generator = torch.Generator(device).manual_seed(rank)
images = torch.randn(64, 3, 224, 224, device=device, generator=generator)
labels = torch.randint(10, (64,), device=device, generator=generator)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
while True:
    with torch.autocast("cuda", torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 10 == 0 and rank == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
