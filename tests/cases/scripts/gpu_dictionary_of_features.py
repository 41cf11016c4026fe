"""Train a sparse autoencoder on a language model's activations: of 16384 features, the 64 strongest remain."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    width: int = 1024
    features: int = 16384
    active: int = 64
    batch: int = 4096
    rate: float = 2e-4


class SparseAutoencoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.active = config.active
        self.encoder = nn.Linear(config.width, config.features)
        self.decoder = nn.Linear(config.features, config.width)
        self.decoder.weight.data = self.encoder.weight.data.T.clone()

    def forward(self, x):
        strength = self.encoder(x - self.decoder.bias).float()
        with torch.no_grad():
            ranked = strength.sort(dim=-1, descending=True).values
            threshold = ranked[:, self.active - 1 : self.active]
        code = torch.where(strength >= threshold, strength, 0.0).relu()
        return self.decoder(code), code


def activations(config, device):
    basis = torch.randn(4096, config.width, device=device)
    while True:
        weights = torch.rand(config.batch, 8, 1, device=device)
        chosen = torch.randint(len(basis), (config.batch, 8), device=device)
        yield (basis[chosen] * weights).sum(1)


def main():
    config, device = Config(), torch.device("cuda")
    torch.manual_seed(0)
    model = SparseAutoencoder(config).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.rate, fused=True)
    for step, batch in enumerate(activations(config, device)):
        with torch.autocast("cuda", torch.bfloat16):
            rebuilt, code = model(batch)
        loss = (rebuilt.float() - batch).square().sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 200 == 0:
            print(f"step {step} error {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
