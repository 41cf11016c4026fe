"""Train a one-stage detector on prepared crops with boxes; anchors are matched when a batch is put together."""

import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SIZE, STRIDE, SCALES = 96, 8, (12, 24, 48)


def overlap(one, other):
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    both = width * height
    return both / (
        (one[2] - one[0]) * (one[3] - one[1]) + (other[2] - other[0]) * (other[3] - other[1]) - both
    )


class Crops(Dataset):
    def __init__(self, count=2000, boxes=16):
        self.pictures = torch.rand(count, 3, SIZE, SIZE).mul(255).byte()
        corner = torch.rand(count, boxes, 2) * (SIZE - 30)
        self.boxes = torch.cat([corner, corner + 8 + torch.rand(count, boxes, 2) * 22], 2)

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        return self.pictures[index], self.boxes[index].tolist()


class Match:
    def __init__(self, threshold=0.4):
        centres = range(STRIDE // 2, SIZE, STRIDE)
        self.threshold = threshold
        self.anchors = [
            (x - scale / 2, y - scale / 2, x + scale / 2, y + scale / 2)
            for scale, y, x in itertools.product(SCALES, centres, centres)
        ]

    def __call__(self, rows):
        targets = []
        for _, boxes in rows:
            best = [max(overlap(anchor, box) for box in boxes) for anchor in self.anchors]
            targets.append([float(value > self.threshold) for value in best])
        return torch.stack([picture for picture, _ in rows]), torch.tensor(targets)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        layers, last = [], 3
        for width in (16, 32, 48):
            layers += [nn.Conv2d(last, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
            last = width
        self.net = nn.Sequential(*layers, nn.Conv2d(last, len(SCALES), 1))

    def forward(self, pictures):
        return self.net(pictures.float().div(255)).flatten(1)


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader(Crops(), 24, shuffle=True, collate_fn=Match(), num_workers=2, persistent_workers=True)
    detector = Detector()
    optimizer = torch.optim.SGD(detector.parameters(), lr=0.02, momentum=0.9)
    for epoch in itertools.count():
        for step, (pictures, targets) in enumerate(loader):
            loss = nn.functional.binary_cross_entropy_with_logits(detector(pictures), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 20 == 0:
                print(f"epoch {epoch} step {epoch * len(loader) + step} loss {loss.item():.4f}", flush=True)
