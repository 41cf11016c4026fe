"""Train a language model on sentences packed by length, with four batches for each update."""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, Sampler


class Sentences(Dataset):
    def __init__(self, count=2400, words=1000):
        self.lengths = torch.randint(12, 81, (count,))
        self.tokens = torch.randint(1, words, (int(self.lengths.sum()),)).split(self.lengths.tolist())

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return self.tokens[index]


class ByLength(Sampler):
    """Batches of sentences of like length, each of at most so many tokens, in a new order each time."""

    def __init__(self, lengths, budget):
        self.lengths, self.budget = lengths, budget

    def __iter__(self):
        jitter = torch.rand(len(self.lengths)) * 4
        batches, batch = [], []
        for index in (self.lengths + jitter).argsort().tolist():
            if batch and (len(batch) + 1) * int(self.lengths[index]) > self.budget:
                batches, batch = [*batches, batch], []
            batch.append(index)
        batches.append(batch)
        yield from (batches[i] for i in torch.randperm(len(batches)).tolist())


class Model(nn.Module):
    def __init__(self, words=1000, width=128):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(96, width)
        layer = nn.TransformerEncoderLayer(width, 4, 320, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(width, words)

    def forward(self, tokens):
        length = tokens.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        states = self.words(tokens) + self.places.weight[:length]
        return self.out(self.layers(states, mask=mask, is_causal=True))


if __name__ == "__main__":
    data, model = Sentences(), Model()
    batches = ByLength(data.lengths, budget=768)
    loader = DataLoader(
        data, batch_sampler=batches, collate_fn=lambda rows: pad_sequence(rows, batch_first=True)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, weight_decay=0.05)
    seen = 0
    while True:
        for tokens in loader:
            scores = model(tokens[:, :-1]).flatten(0, 1)
            loss = nn.functional.cross_entropy(scores, tokens[:, 1:].flatten(), ignore_index=0)
            (loss / 4).backward()
            seen += 1
            if seen % 4 == 0:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            if seen % 100 == 0:
                print(f"step {seen // 4} loss {loss.item():.3f}", flush=True)
