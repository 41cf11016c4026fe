"""Train a small CNN on JPEG files, decoding and augmenting in the training process.

An ordinary script with an ordinary fault: the loader has no workers, so the model waits for pictures.
"""

import argparse
import time
from pathlib import Path

import torch
from images import CLASSES, image_folder
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

PIXELS = 64


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--data", type=Path, help="folder with one subfolder of images per class")
    parser.add_argument("--output", type=Path, help="folder for a checkpoint per epoch; none: no checkpoints")
    parser.add_argument("--log-every", type=int, default=10, metavar="STEPS")
    return parser.parse_args()


def loader(folder: Path, batch_size: int) -> "DataLoader[tuple[torch.Tensor, torch.Tensor]]":
    augment = transforms.Compose(
        [
            transforms.ColorJitter(brightness=0.2, contrast=0.2, saturation=0.2),
            transforms.RandomRotation(10, transforms.InterpolationMode.BILINEAR),
            transforms.RandomHorizontalFlip(),
            transforms.RandomResizedCrop(PIXELS),
            transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )
    pictures = datasets.ImageFolder(folder, augment)
    return DataLoader(pictures, batch_size=batch_size, shuffle=True, drop_last=True)


def main() -> None:
    args = arguments()
    torch.manual_seed(0)
    torch.set_num_threads(1)  # a model this small gains little from more, and they spin on a busy host
    device = "cuda" if torch.cuda.is_available() else "cpu"
    folder = args.data or image_folder("photos", files=768, width=500, height=375)
    batches = loader(folder, args.batch_size)
    model = models.shufflenet_v2_x0_5(num_classes=CLASSES).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    step = 0
    for epoch in range(args.epochs):
        began = time.perf_counter()
        for pictures, labels in batches:
            loss = loss_of(model(pictures.to(device)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % args.log_every == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.4f}", flush=True)
        rate = len(batches) * args.batch_size / (time.perf_counter() - began)
        print(f"epoch {epoch} done: {rate:.0f} images/s", flush=True)
        if args.output:
            args.output.mkdir(parents=True, exist_ok=True)
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
            torch.save(state, args.output / f"epoch-{epoch:03}.pt")


if __name__ == "__main__":
    main()
