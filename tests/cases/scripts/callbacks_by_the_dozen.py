"""Run two dozen callbacks around each batch of a small model, each with its own copy of the trainer's state.

R241: https://github.com/Lightning-AI/pytorch-lightning/issues/6196
"""

import copy
import dataclasses
import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset


@dataclasses.dataclass
class State:
    step: int = 0
    epoch: int = 0
    best: float = float("inf")
    flags: dict = dataclasses.field(default_factory=lambda: {f"flag{number}": False for number in range(60)})
    limits: list = dataclasses.field(default_factory=lambda: [{"name": str(n), "at": n} for n in range(40)])


class Callback:
    def on_batch_start(self, state):
        return dataclasses.replace(state, flags=dict(state.flags))

    def on_before_backward(self, state):
        return copy.copy(state)

    def on_batch_end(self, state):
        wanted = copy.deepcopy(state.limits)
        return any(limit["at"] == state.step and limit["name"] in state.flags for limit in wanted)


class Trainer:
    def __init__(self, model, loader, callbacks):
        self.model, self.loader, self.callbacks, self.state = model, loader, callbacks, State()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def call(self, hook):
        for callback in self.callbacks:
            method = getattr(callback, hook, None)
            if callable(method):
                method(self.state)

    def fit(self):
        for self.state.epoch in itertools.count():
            for inputs, targets in self.loader:
                self.call("on_batch_start")
                loss = torch.nn.functional.mse_loss(self.model(inputs), targets)
                self.call("on_before_backward")
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.state.step += 1
                self.call("on_batch_end")
                if self.state.step % 20 == 0:
                    print(f"step {self.state.step} loss {loss.item():.3f}", flush=True)


torch.manual_seed(0)
torch.set_num_threads(1)
table = TensorDataset(torch.randn(6400, 128), torch.randn(6400, 4))
net = torch.nn.Sequential(torch.nn.Linear(128, 512), torch.nn.Tanh(), torch.nn.Linear(512, 4))
Trainer(net, DataLoader(table, batch_size=64, shuffle=True), [Callback() for _ in range(24)]).fit()
