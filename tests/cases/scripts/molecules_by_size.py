"""Predict energies of molecules of mixed size: like sizes share a batch, and an average of the weights is kept."""

import random

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, Dataset


class Molecules(Dataset):
    def __init__(self, count=6000):
        draw = random.Random(0)
        self.sizes = [draw.randint(16, 72) for _ in range(count)]
        self.places = torch.tensor([0, *self.sizes]).cumsum(0).tolist()
        self.atoms = torch.randint(1, 20, (self.places[-1],))
        self.at = torch.randn(self.places[-1], 3) * 3

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, index):
        start, end = self.places[index], self.places[index + 1]
        return self.atoms[start:end], self.at[start:end]


class LikeSizes:
    """Batches of neighbours in size, in a new order each time."""

    def __init__(self, sizes, batch):
        self.sizes, self.batch = sizes, batch

    def __len__(self):
        return len(self.sizes) // self.batch

    def __iter__(self):
        order = sorted(range(len(self.sizes)), key=lambda index: self.sizes[index] + random.random())
        batches = [order[i * self.batch : (i + 1) * self.batch] for i in range(len(self))]
        random.shuffle(batches)
        return iter(batches)


def pad(rows):
    atoms, places = zip(*rows)
    pad_sequence = nn.utils.rnn.pad_sequence
    return pad_sequence(atoms, batch_first=True), pad_sequence(places, batch_first=True)


class Energies(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.embed, self.place = nn.Embedding(20, width, padding_idx=0), nn.Linear(3, width)
        layer = nn.TransformerEncoderLayer(
            width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.head = nn.Linear(width, 1)

    def forward(self, atoms, places):
        empty = atoms == 0
        hidden = self.body(self.embed(atoms) + self.place(places), src_key_padding_mask=empty)
        return self.head(hidden).squeeze(-1).masked_fill(empty, 0).sum(1)


def main():
    random.seed(0)
    torch.manual_seed(0)
    molecules = Molecules()
    loader = DataLoader(molecules, batch_sampler=LikeSizes(molecules.sizes, 32), collate_fn=pad)
    model = Energies()
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    step = 0
    while True:
        for atoms, places in loader:
            energy = places.norm(dim=-1).sum(1) / 10
            loss = nn.functional.smooth_l1_loss(model(atoms, places), energy)
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            average.update_parameters(model)
            step += 1
            if step % 50 == 0:
                print(f"step {step} loss {loss.item():.3f} norm {norm.item():.2f}", flush=True)


main()
