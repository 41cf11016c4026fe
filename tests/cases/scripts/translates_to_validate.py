"""Translate the whole development set, word by word, every 20 steps, to know the exact-match rate."""

import torch
from torch.utils.data import DataLoader, TensorDataset

WORDS, LENGTH = 400, 20


class Translator(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, 48)
        self.read, self.write = torch.nn.GRU(48, 96, batch_first=True), torch.nn.GRU(48, 96, batch_first=True)
        self.out = torch.nn.Linear(96, WORDS)

    def forward(self, source, target):
        _, state = self.read(self.words(source))
        start = torch.zeros_like(target[:, :1])
        return self.out(self.write(self.words(torch.cat([start, target[:, :-1]], 1)), state)[0])

    @torch.no_grad()
    def translate(self, source):
        _, state = self.read(self.words(source))
        word, said = torch.zeros_like(source[:, :1]), []
        for _ in range(source.shape[1]):
            out, state = self.write(self.words(word), state)
            word = self.out(out).argmax(-1)
            said.append(word)
        return torch.cat(said, 1)


def matches(model, pairs):
    model.eval()
    right = sum((model.translate(source) == target).all(1).sum().item() for source, target in pairs)
    model.train()
    return right / len(pairs.dataset)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    source = torch.randint(1, WORDS, (7680, LENGTH))
    pairs = TensorDataset(source, source.flip(1))
    train = DataLoader(pairs, batch_size=32, shuffle=True)
    development = DataLoader(TensorDataset(source[:2560], source[:2560].flip(1)), batch_size=64)
    model = Translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    step = 0
    while True:
        for heard, wanted in train:
            logits = model(heard, wanted)
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)
            if step % 20 == 0:
                print(f"exact {matches(model, development):.3f}", flush=True)


main()
