"""Fit a convolutional regressor to spectra, visiting them by a sampler."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Sampler, TensorDataset


class Stratified(Sampler):
    """Deal the strata out evenly, each of them mixed."""

    def __init__(self, strata, seed=17):
        generator = torch.Generator().manual_seed(seed)
        groups = []
        for stratum in strata.unique():
            members = torch.nonzero(strata == stratum).flatten()
            groups.append(members[torch.randperm(len(members), generator=generator)])
        self.order = torch.stack(groups, 1).flatten().tolist()

    def __len__(self):
        return len(self.order)

    def __iter__(self):
        return iter(self.order)


class Regressor(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, width, 9, stride=2, padding=4), nn.GELU(),
            nn.Conv1d(width, 2 * width, 9, stride=2, padding=4), nn.GELU(),
            nn.Conv1d(2 * width, 2 * width, 9, stride=2, padding=4), nn.GELU(),
        )  # fmt: skip
        self.head = nn.Linear(2 * width, 3)

    def forward(self, spectra):
        return self.head(self.features(spectra).mean(-1))


torch.manual_seed(3)
strata = torch.arange(3200) % 8
spectra = torch.randn(3200, 1, 512) + strata[:, None, None] * 0.1
targets = torch.randn(3200, 3)
loader = DataLoader(
    TensorDataset(spectra, targets), batch_size=32, sampler=Stratified(strata), drop_last=True
)
model = Regressor()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=10)
epoch = 0
while True:
    mean = 0.0
    for batch, (x, y) in enumerate(loader):
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.huber_loss(model(x), y)
        loss.backward()
        optimizer.step()
        mean += (loss.item() - mean) / (batch + 1)
    schedule.step(epoch)
    epoch += 1
    print(f"epoch {epoch:4d} step {epoch * len(loader)} loss {mean:.4f}", flush=True)
