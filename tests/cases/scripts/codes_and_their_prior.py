"""Learn a code book for textures and, in turns of one batch, a prior over its codes."""

import itertools

import torch
import torch.nn.functional as F
from torch import nn


class CodeBook(nn.Module):
    def __init__(self, codes=256, size=32, width=48):
        super().__init__()
        self.encode = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1), nn.SiLU(), nn.Conv2d(width, width, 4, 2, 1), nn.SiLU(),
            nn.Conv2d(width, size, 1),
        )  # fmt: skip
        self.decode = nn.Sequential(
            nn.Conv2d(size, width, 3, 1, 1), nn.SiLU(), nn.ConvTranspose2d(width, width, 4, 2, 1), nn.SiLU(),
            nn.ConvTranspose2d(width, 3, 4, 2, 1),
        )  # fmt: skip
        self.book = nn.Embedding(codes, size)

    def look_up(self, pictures):
        found = self.encode(pictures)
        flat = found.permute(0, 2, 3, 1)
        book = self.book.weight
        distance = flat.square().sum(-1, keepdim=True) - 2 * flat @ book.T + book.square().sum(1)
        return found, distance.argmin(-1)

    def loss(self, pictures):
        found, codes = self.look_up(pictures)
        taken = self.book(codes).permute(0, 3, 1, 2)
        made = self.decode(found + (taken - found).detach())
        commitment = F.mse_loss(taken, found.detach()) + 0.25 * F.mse_loss(found, taken.detach())
        return F.mse_loss(made, pictures) + commitment


class Prior(nn.Module):
    def __init__(self, codes=256, width=128, length=64):
        super().__init__()
        self.embed = nn.Embedding(codes + 1, width)
        self.place = nn.Parameter(torch.randn(length, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 4, 3 * width, dropout=0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(width, codes)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def loss(self, codes):
        shifted = F.pad(codes[:, :-1], (1, 0), value=self.head.out_features)
        hidden = self.body(self.embed(shifted) + self.place, mask=self.mask, is_causal=True)
        return F.cross_entropy(self.head(hidden).flatten(0, 1), codes.flatten())


def descend(loss, optimizer):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


torch.manual_seed(0)
textures = torch.rand(3000, 3, 32, 32)
codebook, prior = CodeBook(), Prior()
of_codes = torch.optim.Adam(codebook.parameters(), lr=5e-4)
of_prior = torch.optim.AdamW(prior.parameters(), lr=3e-4)
for turn in itertools.count(1):
    batch = textures[torch.randint(len(textures), (24,))]
    if turn % 2:
        first = descend(codebook.loss(batch), of_codes)
    else:
        with torch.no_grad():
            _, codes = codebook.look_up(batch)
        second = descend(prior.loss(codes.flatten(1)), of_prior)
    if turn % 100 == 0:
        print(f"step {turn} codes {first.item():.4f} prior {second.item():.3f}", flush=True)
