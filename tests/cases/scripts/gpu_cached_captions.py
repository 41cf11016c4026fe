"""Train a text-to-image denoiser from latents and caption states that were computed once and kept in memory."""

import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class CachedShards(Dataset):
    def __init__(self, shards=10, batch=32):
        self.latents = [torch.randn(batch, 1024, 64) for _ in range(shards)]
        self.captions = [torch.randn(batch, 512, 4096) for _ in range(shards)]

    def __len__(self):
        return len(self.latents)

    def __getitem__(self, index):
        return self.latents[index], self.captions[index]


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.itself = nn.MultiheadAttention(width, 8, batch_first=True)
        self.cross = nn.MultiheadAttention(width, 8, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, caption):
        y = self.norms[0](x)
        x = x + self.itself(y, y, y, need_weights=False)[0]
        x = x + self.cross(self.norms[1](x), caption, caption, need_weights=False)[0]
        return x + self.mlp(self.norms[2](x))


class Denoiser(nn.Module):
    def __init__(self, width=512, depth=3):
        super().__init__()
        self.enter, self.caption = nn.Linear(64, width), nn.Linear(4096, width)
        self.when = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width))
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.leave = nn.Linear(width, 64)

    def forward(self, x, when, caption):
        x, caption = self.enter(x) + self.when(when[:, None])[:, None], self.caption(caption)
        for block in self.blocks:
            x = block(x, caption)
        return self.leave(x)


device = torch.device("cuda")
loader = DataLoader(CachedShards(), batch_size=None, shuffle=True)
model = Denoiser().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
step = 0
for epoch in itertools.count():
    for latents, captions in loader:
        latents, captions = latents.to(device), captions.to(device)
        noise = torch.randn_like(latents)
        when = torch.rand(len(latents), device=device)
        mixed = torch.lerp(latents, noise, when[:, None, None])
        with torch.autocast("cuda", torch.bfloat16):
            loss = nn.functional.mse_loss(model(mixed, when, captions).float(), noise - latents)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 50 == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.4f}", flush=True)
