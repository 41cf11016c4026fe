"""Train a causal model on songs packed end to end; a thread packs the next batch while this one is learnt."""

import queue
import threading

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

LENGTH, BATCH, NOTES = 128, 12, 130


class Songs:
    def __init__(self, count=4000):
        rng = np.random.default_rng(0)
        ends = np.cumsum(rng.integers(20, 300, size=count))
        notes = rng.integers(2, NOTES, size=ends[-1])
        self.songs = np.split(notes, ends[:-1])
        self.rng = rng

    def packed(self):
        """Yield windows of notes with the number of the song that each is from."""
        notes, owner, size, number = [], [], 0, 0
        while True:
            song = self.songs[self.rng.integers(len(self.songs))]
            notes.append(np.append(song, 1))
            owner.append(np.full(len(song) + 1, number))
            size, number = size + len(song) + 1, number + 1
            if size >= BATCH * (LENGTH + 1):
                kept = BATCH * (LENGTH + 1)
                shape = BATCH, LENGTH + 1
                yield np.concatenate(notes)[:kept].reshape(shape), np.concatenate(owner)[:kept].reshape(shape)
                notes, owner, size = [], [], 0


class Ahead(threading.Thread):
    def __init__(self, source, depth=4):
        super().__init__(daemon=True)
        self.source, self.held = source, queue.Queue(depth)
        self.start()

    def run(self):
        for notes, owner in self.source:
            self.held.put((torch.from_numpy(notes), torch.from_numpy(owner[:, :-1])))

    def __iter__(self):
        while True:
            yield self.held.get()


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 3 * width), nn.GELU(), nn.Linear(3 * width, width))

    def forward(self, hidden, mask):
        parts = self.qkv(self.first(hidden)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*parts, attn_mask=mask)
        hidden = hidden + self.out(mixed.transpose(1, 2).flatten(2))
        return hidden + self.feed(self.second(hidden))


class Composer(nn.Module):
    def __init__(self, width=160, depth=3):
        super().__init__()
        self.embed, self.place = nn.Embedding(NOTES, width), nn.Embedding(LENGTH, width)
        self.blocks = nn.ModuleList(Block(width, 5) for _ in range(depth))
        self.head = nn.Linear(width, NOTES)
        self.register_buffer("causal", torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril())

    def forward(self, notes, owner):
        mask = (self.causal & (owner[:, :, None] == owner[:, None, :]))[:, None]
        hidden = self.embed(notes) + self.place.weight
        for block in self.blocks:
            hidden = block(hidden, mask)
        return self.head(hidden)


torch.manual_seed(0)
model = Composer()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95))
warm = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 200)
for step, (notes, owner) in enumerate(Ahead(Songs().packed())):
    loss = F.cross_entropy(model(notes[:, :-1], owner).flatten(0, 1), notes[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    warm.step()
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
