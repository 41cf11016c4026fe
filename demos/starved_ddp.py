"""Train on two ranks with DDP, where rank 1 reads photographs four times as large as rank 0's.

Start it with `torchrun --standalone --nproc-per-node 2 starved_ddp.py`. Each rank reads a shard of its own,
as shards come from different cameras; in every step rank 0 waits for the gradients of rank 1.
"""

import argparse
import os

import torch
import torch.distributed as dist
from images import CLASSES, image_folder
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

PIXELS = 64


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=8, help="per rank")
    parser.add_argument("--log-every", type=int, default=10, metavar="STEPS")
    return parser.parse_args()


def loader(rank: int, batch_size: int) -> "DataLoader[tuple[torch.Tensor, torch.Tensor]]":
    width, height = (500, 375) if rank == 0 else (1000, 750)
    folder = image_folder(f"shard{rank}", files=128, width=width, height=height)
    augment = transforms.Compose(
        [transforms.RandomResizedCrop(PIXELS), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
    )
    pictures = datasets.ImageFolder(folder, augment)
    return DataLoader(pictures, batch_size=batch_size, shuffle=True, drop_last=True)


def main() -> None:
    args = arguments()
    rank = int(os.environ["RANK"])
    batches = loader(rank, args.batch_size)
    dist.init_process_group("gloo")
    torch.manual_seed(rank)
    model = DistributedDataParallel(models.shufflenet_v2_x0_5(num_classes=CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    step = 0
    for epoch in range(args.epochs):
        for pictures, labels in batches:
            loss = loss_of(model(pictures), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if rank == 0 and step % args.log_every == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
