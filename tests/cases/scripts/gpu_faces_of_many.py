"""Train a face embedding with an angular margin over 200 000 identities."""

import argparse

import torch
from torch import nn
from torch.nn import functional


class MarginHead(nn.Module):
    def __init__(self, width, identities, margin=0.5, scale=64.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(identities, width) * 0.01)
        self.margin, self.scale = margin, scale

    def forward(self, features, labels):
        with torch.autocast("cuda", enabled=False):
            cosine = functional.linear(
                functional.normalize(features.float()), functional.normalize(self.weight)
            )
            own = cosine.gather(1, labels[:, None]).clamp(-0.999, 0.999)
            cosine = cosine.scatter(1, labels[:, None], torch.cos(torch.acos(own) + self.margin))
            return functional.cross_entropy(cosine * self.scale, labels)


def stage(before, after, kernel, stride):
    return nn.Sequential(
        nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU(inplace=True),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--identities", type=int, default=200_000)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--lr", type=float, default=0.05)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    device = torch.device("cuda")
    faces = torch.randint(256, (16_384, 3, 112, 112), dtype=torch.uint8, device=device)
    labels = torch.randint(arguments.identities, (len(faces),), device=device)
    backbone = nn.Sequential(
        stage(3, 64, 7, 4),
        stage(64, 128, 3, 2),
        stage(128, 256, 3, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(256, 512),
    ).to(device, memory_format=torch.channels_last)
    head = MarginHead(512, arguments.identities).to(device)
    optimizer = torch.optim.SGD(
        [*backbone.parameters(), *head.parameters()], lr=arguments.lr, momentum=0.9, fused=True
    )
    step = 0
    while True:
        for rows in torch.randperm(len(faces), device=device).split(arguments.batch):
            images = faces[rows].contiguous(memory_format=torch.channels_last)
            with torch.autocast("cuda", torch.bfloat16):
                features = backbone(images.to(torch.bfloat16) / 127.5 - 1)
            loss = head(features, labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 100 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
