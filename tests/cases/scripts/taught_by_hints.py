"""Teach a small network by a large one's answers and hints; callbacks validate, adapt the rate and report."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Mean:
    def __init__(self):
        self.total, self.count = torch.zeros(()), 0

    def add(self, value, count):
        self.total += value.detach() * count
        self.count += count

    def read(self):
        return self.total.item() / max(self.count, 1)


class Net(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, 2, 1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
            for _ in range(depth)
        )
        self.head = nn.Linear(width, 10)

    def forward(self, pictures):
        hidden = self.stem(pictures)
        for block in self.blocks:
            hidden = hidden + block(hidden)
        return self.head(hidden.mean((2, 3))), hidden


class Validate:
    def __init__(self, loader, every=150):
        self.loader, self.every = loader, every

    @torch.no_grad()
    def after_step(self, run):
        if run.step % self.every:
            return
        run.student.eval()
        hits = Mean()
        for pictures, labels in self.loader:
            right = (run.student(pictures)[0].argmax(1) == labels).float().mean()
            hits.add(right, len(labels))
        run.student.train()
        print(f"step {run.step}: accuracy {hits.read():.3f}", flush=True)


class Report:
    def after_step(self, run):
        if run.step % 50 == 0:
            rate = run.schedule.get_last_lr()[0]
            print(f"step {run.step}: loss {run.mean.read():.4f}, rate {rate:.5f}", flush=True)
            run.mean = Mean()


class Rate:
    def after_step(self, run):
        run.schedule.step()


class Run:
    def __init__(self, train, callbacks):
        self.train, self.callbacks = train, callbacks
        self.teacher, self.student = Net(64, 4).eval().requires_grad_(False), Net(32, 3)
        self.bridge = nn.Conv2d(32, 64, 1)
        weights = [*self.student.parameters(), *self.bridge.parameters()]
        self.optimizer = torch.optim.SGD(weights, lr=0.05, momentum=0.9, weight_decay=1e-4)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 20_000)
        self.step, self.mean = 0, Mean()

    def loss(self, pictures, labels, warmth=4.0):
        with torch.no_grad():
            answers, hints = self.teacher(pictures)
        guesses, hidden = self.student(pictures)
        soft = F.kl_div(
            F.log_softmax(guesses / warmth, 1), F.softmax(answers / warmth, 1), reduction="batchmean"
        )
        return (
            warmth**2 * soft + F.cross_entropy(guesses, labels) + 0.1 * F.mse_loss(self.bridge(hidden), hints)
        )

    @staticmethod
    def vary(pictures):
        if torch.rand(()) < 0.5:
            pictures = pictures.flip(3)
        return pictures + 0.1 * torch.randn_like(pictures)

    def go(self):
        while True:
            for pictures, labels in self.train:
                loss = self.loss(self.vary(pictures), labels)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.step += 1
                self.mean.add(loss, len(labels))
                for callback in self.callbacks:
                    callback.after_step(self)


torch.manual_seed(0)
full = TensorDataset(torch.randn(4000, 3, 32, 32), torch.randint(10, (4000,)))
train, held_out = random_split(full, [3500, 500])
callbacks = [Rate(), Report(), Validate(DataLoader(held_out, 100))]
Run(DataLoader(train, 32, shuffle=True, drop_last=True), callbacks).go()
