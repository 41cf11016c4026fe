"""Learn from few labels: the student follows a teacher that is the running mean of itself."""

import copy

import torch
from torch import nn
from torch.nn import functional as F


class Reader(nn.Module):
    def __init__(self, words=3000, width=128, classes=8):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Parameter(torch.randn(40, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 4, 256, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens, noise=0.1):
        states = self.words(tokens) + self.places
        states = states + noise * torch.randn_like(states)
        return self.head(self.layers(states).mean(1))


class MeanTeacher:
    def __init__(self, student, decay=0.995):
        self.student, self.decay = student, decay
        self.teacher = copy.deepcopy(student).requires_grad_(False)
        self.optimizer = torch.optim.AdamW(student.parameters(), lr=3e-4, fused=True)
        self.pairs = list(self.teacher.parameters()), [p.detach() for p in student.parameters()]

    def losses(self, tokens, labels):
        guessed = self.student(tokens)
        with torch.no_grad():
            taught = self.teacher(tokens).softmax(1)
        return F.cross_entropy(guessed[: len(labels)], labels), F.mse_loss(guessed.softmax(1), taught)

    def update(self, tokens, labels, weight):
        supervised, consistent = self.losses(tokens, labels)
        self.optimizer.zero_grad()
        (supervised + weight * consistent).backward()
        self.optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(*self.pairs, 1 - self.decay)
        return supervised.detach(), consistent.detach()


def batches(labelled, labels, rest, count=12, others=20):
    while True:
        ours, theirs = torch.randint(len(labelled), (count,)), torch.randint(len(rest), (others,))
        yield torch.cat((labelled[ours], rest[theirs])), labels[ours]


if __name__ == "__main__":
    torch.manual_seed(0)
    texts = torch.randint(3000, (20_000, 40))
    labels = texts[:500, 0] % 8
    method = MeanTeacher(Reader())
    for step, batch in enumerate(batches(texts[:500], labels, texts[500:]), start=1):
        supervised, consistent = method.update(*batch, weight=min(1.0, step / 500) * 10)
        if step % 50 == 0:
            print(f"step {step} loss {supervised.item():.3f} consistency {consistent.item():.5f}", flush=True)
