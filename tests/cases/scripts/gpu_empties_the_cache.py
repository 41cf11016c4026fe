"""Call torch.cuda.empty_cache() after each batch against an out-of-memory error of long ago.

R124: https://github.com/batra-mlp-lab/visdial-challenge-starter-pytorch/pull/34
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
    optimizer.step()
    torch.cuda.empty_cache()
    step += 1
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
