"""Count which lines of the training run, with a trace function that was set for a test and stayed.

R120: https://github.com/pytorch/pytorch/issues/134191
"""

import collections
import sys
import time

import torch

lines, spent = collections.Counter(), collections.Counter()
last = time.perf_counter()


def follow(frame, event, argument):
    global last
    if event == "line":
        where = f"{frame.f_code.co_filename}:{frame.f_code.co_name}:{frame.f_lineno}"
        now = time.perf_counter()
        lines[where] += 1
        spent[where] += now - last
        last = now
    return follow


class Cell(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gates = torch.nn.Linear(2 * width, 2 * width)
        self.new = torch.nn.Linear(2 * width, width)
        self.open, self.bend = torch.nn.Sigmoid(), torch.nn.Tanh()

    def forward(self, moment, hidden):
        reset, keep = self.open(self.gates(torch.cat([moment, hidden], 1))).chunk(2, 1)
        new = self.bend(self.new(torch.cat([moment, reset * hidden], 1)))
        return keep * hidden + (1 - keep) * new


def unroll(cell, series):
    hidden = torch.zeros(series.shape[0], series.shape[2])
    states = []
    for moment in series.unbind(1):
        hidden = cell(moment, hidden)
        states.append(hidden)
    return torch.stack(states, 1)


def train():
    cell = Cell(16)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(0)
    step = 0
    while True:
        series = torch.randn(16, 41, 16, generator=generator).cumsum(1) / 6
        states = unroll(cell, series[:, :-1])
        loss = (states - series[:, 1:]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f} lines {len(lines)}", flush=True)


torch.manual_seed(0)
torch.set_num_threads(1)
sys.settrace(follow)
train()
