"""Train a detector whose targets are dictionaries, one for each image, and move every entry of each by itself."""

import torch

torch.manual_seed(0)
device = torch.device("cuda")
IMAGES = 128


def target():
    count = int(torch.randint(1, 20, ()))
    return {
        "boxes": torch.rand(count, 4),
        "labels": torch.randint(80, (count,)),
        "area": torch.rand(count),
        "crowd": torch.zeros(count),
    }


def joined(targets, name):
    return torch.cat([each[name] for each in targets])


class Detector(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv2d(3, 64, 4, stride=4),
            torch.nn.ReLU(),
            torch.nn.Conv2d(64, 128, 3, stride=2, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(128, 256, 3, stride=2, padding=1),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(1),
            torch.nn.Flatten(),
        )
        self.box, self.kind = torch.nn.Linear(256, 4), torch.nn.Linear(256, 80)

    def forward(self, images):
        features = self.body(images)
        return self.box(features), self.kind(features)


batches = [[target() for _ in range(IMAGES)] for _ in range(16)]
images = torch.randn(IMAGES, 3, 128, 128, device=device).contiguous(memory_format=torch.channels_last)
model = Detector().to(device, memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
while True:
    targets = [{name: value.to(device) for name, value in each.items()} for each in batches[step % 16]]
    owners = torch.arange(IMAGES).repeat_interleave(torch.tensor([len(each["area"]) for each in targets]))
    owners = owners.to(device)
    boxes, labels = joined(targets, "boxes"), joined(targets, "labels")
    weight = joined(targets, "area") * (1 - joined(targets, "crowd"))
    with torch.autocast("cuda", torch.bfloat16):
        box, kind = model(images)
    missed = (box.float()[owners] - boxes).abs().sum(1) * weight
    loss = missed.mean() + torch.nn.functional.cross_entropy(kind.float()[owners], labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
