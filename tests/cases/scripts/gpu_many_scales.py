"""Train a detector's backbone at many scales, drawn anew every ten batches as YOLO does, with a compiled model."""

import random

import torch
from torch import nn
from torch.nn import functional

torch._dynamo.config.cache_size_limit = 128
SIZES = range(160, 512, 8)


class Stage(nn.Module):
    def __init__(self, before, width):
        super().__init__()
        self.down, self.down_norm = nn.Conv2d(before, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width)
        self.conv, self.norm = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)

    def forward(self, x):
        x = functional.silu(self.down_norm(self.down(x)))
        return x + functional.silu(self.norm(self.conv(x)))


class Backbone(nn.Module):
    def __init__(self, widths=(48, 96, 192, 384), outputs=85):
        super().__init__()
        self.stages = nn.Sequential(*(Stage(*pair) for pair in zip((3, *widths), widths)))
        self.head = nn.Conv2d(widths[-1], outputs, 1)

    def forward(self, x):
        return self.head(self.stages(x))


def main():
    torch.manual_seed(0)
    random.seed(0)
    device = torch.device("cuda")
    model = Backbone().to(device, memory_format=torch.channels_last)
    compiled = torch.compile(model, dynamic=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.937, nesterov=True)
    pictures = torch.rand(512, 3, 512, 512, device=device, dtype=torch.bfloat16)
    step, size = 0, 320
    while True:
        if step % 10 == 0 and step > 0:
            size = random.choice(SIZES)
        rows = torch.randint(len(pictures), (32,), device=device)
        images = functional.interpolate(pictures[rows], size=(size, size), mode="bilinear")
        images = images.contiguous(memory_format=torch.channels_last)
        with torch.autocast("cuda", torch.bfloat16):
            grid = compiled(images)
        target = functional.adaptive_avg_pool2d(images.float().mean(1, keepdim=True), grid.shape[-2:])
        loss = functional.mse_loss(grid.float(), target.expand_as(grid))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step} size {size} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
