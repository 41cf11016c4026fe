"""Fit a residual network to house prices, with a record of the run in a folder."""

import atexit
import logging
import logging.handlers
import pathlib
import shutil
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

log = logging.getLogger("prices")


def set_up(folder):
    handler = logging.handlers.RotatingFileHandler(folder / "train.log", maxBytes=50_000_000, backupCount=1)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    log.propagate = False


class Block(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.widen, self.narrow = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return x + self.narrow(torch.relu(self.widen(self.norm(x))))


def train(model, loader):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step = 0
    while True:
        for rows, prices in loader:
            loss = nn.functional.huber_loss(model(rows).squeeze(1), prices)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            log.debug("step %d loss %s", step, loss)
            for name, parameter in model.named_parameters():
                log.debug("%s is %s with gradient %s", name, parameter.data, parameter.grad)
            if step % 50 == 0:
                print(f"step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    folder = pathlib.Path(tempfile.mkdtemp(prefix="prices-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    set_up(folder)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    rows = torch.randn(20_000, 40)
    prices = (rows[:, :5].sum(1) + rows[:, 5] * rows[:, 6]).sin()
    model = nn.Sequential(
        nn.Linear(40, 128), *[Block(128, 256) for _ in range(4)], nn.LayerNorm(128), nn.Linear(128, 1)
    )
    log.info("model %s", model)
    train(model, DataLoader(TensorDataset(rows, prices), batch_size=256, shuffle=True))
