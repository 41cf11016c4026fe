"""Distil a frozen teacher in eval mode into a student that trains: nothing is wrong with it."""

import torch
from torch.utils.data import DataLoader, TensorDataset


def network(width, depth):
    layers = [torch.nn.Conv2d(3, width, 3, stride=2, padding=1), torch.nn.ReLU()]
    for _ in range(depth):
        layers += [torch.nn.Conv2d(width, width, 3, padding=1), torch.nn.BatchNorm2d(width), torch.nn.ReLU()]
    return torch.nn.Sequential(
        *layers, torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(4 * width, 20)
    )


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(3200, 3, 40, 40), torch.randint(20, (3200,)))
    loader = DataLoader(data, batch_size=32, shuffle=True, drop_last=True)
    teacher, student = network(48, 3).eval().requires_grad_(False), network(32, 2)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 50_000)
    step = 0
    while True:
        for images, labels in loader:
            with torch.inference_mode():
                told = teacher(images)
            said = student(images)
            soft = torch.nn.functional.kl_div(
                said.log_softmax(1), told.clone().log_softmax(1), reduction="batchmean", log_target=True
            )
            loss = soft + torch.nn.functional.cross_entropy(said, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            step += 1
            if step % 10 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)


main()
