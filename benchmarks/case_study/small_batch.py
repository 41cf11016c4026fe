"""A ResNet-50 on batches of 16 that lie on the GPU: so little work that launching it takes longer.

python -m benchmarks.case_study.small_batch
"""

import argparse

import torch
from torchvision import models


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()

    model = models.resnet50(num_classes=1000).to(args.device).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(args.batch_size, 3, 224, 224, device=args.device)
    images = images.to(memory_format=torch.channels_last)
    labels = torch.randint(1000, (args.batch_size,), device=args.device)

    for step in range(args.steps):
        with torch.autocast(torch.device(args.device).type, torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
