"""Train a text classifier on two ranks; each takes its part of every global batch.

R021: https://github.com/huggingface/accelerate/issues/158
"""

import re
import zlib

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

WORD = re.compile(r"[a-z]+|\d+|[^\w\s]")


class Reviews(Dataset):
    def __init__(self, count=4096, words=900):
        rng = np.random.default_rng(0)
        letters = np.array(list("etaoinshrdlu"))
        lexicon = ["".join(rng.choice(letters, rng.integers(3, 11))) for _ in range(3000)]
        self.texts = [" ".join(lexicon[i] for i in rng.integers(3000, size=words)) for _ in range(256)]
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.texts[index % 256], index % 5


class Tokenise:
    def __init__(self, rank, world, buckets=20_000, length=256):
        self.rank, self.world, self.buckets, self.length = rank, world, buckets, length

    def pieces(self, word):
        marked = f"<{word}>"
        return [zlib.crc32(marked[i : i + 3].encode()) % self.buckets for i in range(len(marked) - 2)]

    def __call__(self, rows):
        ids, kinds = [], []
        for text, kind in rows:
            pieces = [piece for word in WORD.findall(text.lower()) for piece in self.pieces(word)]
            ids.append(torch.tensor(pieces[: self.length]))
            kinds.append(kind)
        ids = nn.utils.rnn.pad_sequence(ids, batch_first=True)
        return ids[self.rank :: self.world], torch.tensor(kinds)[self.rank :: self.world]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.EmbeddingBag(20_000, 32, mode="mean")
        self.head = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 5))

    def forward(self, ids):
        return self.head(self.embed(ids))


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    part = Tokenise(dist.get_rank(), dist.get_world_size())
    shuffled = torch.Generator().manual_seed(0)
    loader = DataLoader(
        Reviews(),
        32,
        shuffle=True,
        generator=shuffled,
        collate_fn=part,
        num_workers=1,
        persistent_workers=True,
    )
    model = DistributedDataParallel(Classifier())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step = 0
    while True:
        for ids, kinds in loader:
            loss = nn.functional.cross_entropy(model(ids), kinds)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 20 == 0 and dist.get_rank() == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
