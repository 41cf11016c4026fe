"""Learn tastes from what people watched: sparse tables for people and films, a dense scorer above them."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset


class Tastes(nn.Module):
    def __init__(self, people=200_000, films=50_000, size=32, width=512):
        super().__init__()
        self.people = nn.Embedding(people, size, sparse=True)
        self.films = nn.Embedding(films, size, sparse=True)
        self.scorer = nn.Sequential(
            nn.Linear(2 * size, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1)
        )

    def forward(self, person, film):
        return self.scorer(torch.cat([self.people(person), self.films(film)], -1)).squeeze(-1)


def negatives(film, count, films):
    return torch.randint(films, (len(film), count))


def main():
    torch.manual_seed(0)
    seen = TensorDataset(torch.randint(200_000, (400_000,)), torch.randint(50_000, (400_000,)))
    batches = BatchSampler(RandomSampler(seen), 384, drop_last=True)
    loader = DataLoader(seen, sampler=batches, batch_size=None)
    model = Tastes()
    tables = torch.optim.SparseAdam([model.people.weight, model.films.weight], lr=2e-3)
    dense = torch.optim.Adam(model.scorer.parameters(), lr=1e-3)
    epoch = 0
    while True:
        total = torch.zeros(())
        for step, (person, film) in enumerate(loader, 1):
            films = torch.cat([film[:, None], negatives(film, 4, 50_000)], 1)
            scores = model(person[:, None].expand_as(films), films)
            wanted = torch.zeros_like(scores)
            wanted[:, 0] = 1
            loss = F.binary_cross_entropy_with_logits(scores, wanted)
            for optimizer in (tables, dense):
                optimizer.zero_grad()
            loss.backward()
            for optimizer in (tables, dense):
                optimizer.step()
            total += loss.detach()
            if step % 100 == 0:
                print(f"epoch {epoch} step {step} mean loss {total.item() / step:.4f}", flush=True)
        epoch += 1


main()
