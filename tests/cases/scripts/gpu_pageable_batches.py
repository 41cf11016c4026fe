"""Copy large batches to the GPU from memory that is not pinned.

R115: https://arikpoz.github.io/posts/2025-05-25-speed-up-pytorch-training-by-3x-with-nvidia-nsight-and-pytorch-2-tricks
"""

import itertools

import torch

torch.manual_seed(0)
device = torch.device("cuda")
batches = [(torch.randn(256, 3, 224, 224), torch.randint(10, (256,))) for _ in range(8)]
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 7, stride=4),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(4),
    torch.nn.Flatten(),
    torch.nn.Linear(256, 10),
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
for images, labels in itertools.cycle(batches):
    loss = torch.nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
