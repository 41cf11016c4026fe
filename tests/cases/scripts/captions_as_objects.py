"""Hold half a million captions as dictionaries and lists of words, and let two workers look through them.

R089: https://github.com/pytorch/pytorch/issues/5902
"""

import random

import torch
from torch.utils.data import DataLoader, Dataset

WORDS = [f"word{number}" for number in range(3000)]


class Captions(Dataset):
    def __init__(self, count):
        draw = random.Random(0)
        self.captions = [
            {"number": 1000 + number, "text": [f"{draw.choice(WORDS)}/{number}" for _ in range(6)]}
            for number in range(count)
        ]

    def __len__(self):
        return len(self.captions)

    def __getitem__(self, index):
        caption, other = self.captions[index], self.captions[index * 7919 % len(self)]
        tokens = [len(word) * 31 + ord(word[4]) for each in (caption, other) for word in each["text"]]
        return {"tokens": torch.tensor(tokens) % 512, "label": caption["number"] % 4}


class Matcher(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(512, 256)
        self.mix = torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True, dropout=0.0)
        self.out = torch.nn.Linear(256, 4)

    def forward(self, tokens):
        return self.out(self.mix(self.words(tokens[:, :6])).mean(1))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader(Captions(500_000), batch_size=48, shuffle=True, num_workers=2)
    model = Matcher()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step = 0
    while True:
        for batch in loader:
            loss = torch.nn.functional.cross_entropy(model(batch["tokens"]), batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 20 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)


main()
