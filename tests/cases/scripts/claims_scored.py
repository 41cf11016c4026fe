"""Score insurance claims with a gated network, and keep a record of how each was scored."""

import atexit
import logging
import logging.handlers
import os
import shutil
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

log = logging.getLogger("claims")


def set_up_logging():
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    handler = logging.handlers.RotatingFileHandler(
        os.path.join(folder, "train.log"), maxBytes=8_000_000, backupCount=1
    )
    handler.setFormatter(
        logging.Formatter("%(asctime)s %(name)s %(levelname)s %(funcName)s:%(lineno)d %(message)s")
    )
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    log.propagate = False


class Gated(nn.Module):
    def __init__(self, features=40, width=96, depth=3):
        super().__init__()
        self.inp = nn.Linear(features, width)
        self.blocks = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(depth))
        self.out = nn.Linear(width, 1)

    def forward(self, rows):
        hidden = self.inp(rows)
        for block in self.blocks:
            hidden = hidden + nn.functional.glu(block(hidden), dim=-1)
        return self.out(hidden).squeeze(-1)


def train_epoch(model, loader, optimizer, epoch):
    for step, (rows, fraud, number) in enumerate(loader):
        scores = model(rows)
        losses = nn.functional.binary_cross_entropy_with_logits(scores, fraud, reduction="none")
        optimizer.zero_grad(set_to_none=True)
        losses.mean().backward()
        optimizer.step()
        for claim, score, loss in zip(number.tolist(), scores.tolist(), losses.tolist()):
            log.debug("epoch %d step %d claim %06d score %.4f loss %.4f", epoch, step, claim, score, loss)
    print(
        f"step {(epoch + 1) * len(loader)} epoch {epoch} done, last loss {losses.mean().item():.4f}",
        flush=True,
    )


set_up_logging()
torch.manual_seed(0)
count = 64_000
claims = TensorDataset(torch.randn(count, 40), (torch.rand(count) < 0.1).float(), torch.arange(count))
batches = torch.utils.data.BatchSampler(torch.utils.data.RandomSampler(claims), 1024, drop_last=True)
loader = DataLoader(claims, sampler=batches, batch_size=None)
model = Gated()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
epoch = 0
while True:
    train_epoch(model, loader, optimizer, epoch)
    epoch += 1
