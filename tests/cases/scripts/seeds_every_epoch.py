"""Set the seed at the head of each epoch, so that runs can be repeated: each epoch repeats the one before it."""

import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

SEED = 1234


class Forecaster(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.LSTM(8, 64, num_layers=2, batch_first=True, dropout=0.1)
        self.out = torch.nn.Linear(64, 8)

    def forward(self, past):
        return self.out(self.rnn(past)[0][:, -1])


def train_epoch(model, optimizer, loader, epoch, step):
    torch.manual_seed(SEED)
    for past, following in loader:
        loss = torch.nn.functional.l1_loss(model(past), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 20 == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.3f}", flush=True)
    return step


torch.set_num_threads(1)
series = torch.randn(2561 + 32, 8).cumsum(0) / 10
windows = series.unfold(0, 33, 1).transpose(1, 2)
data = TensorDataset(windows[:, :-1].contiguous(), windows[:, -1].contiguous())
forecaster = Forecaster()
adam = torch.optim.Adam(forecaster.parameters(), lr=1e-3)
steps = 0
for number in itertools.count():
    steps = train_epoch(forecaster, adam, DataLoader(data, batch_size=64, shuffle=True), number, steps)
