"""Register the hook that watches activations where each step begins; the earlier ones stay and run along."""

import torch
from torch.utils.data import DataLoader, TensorDataset


class Watch:
    def __init__(self):
        self.spread = {}

    def attach(self, model):
        for name, layer in model.named_children():
            layer.register_forward_hook(lambda _, __, out, name=name: self.note(name, out))

    def note(self, name, out):
        self.spread[name] = out.detach().std()


def train(model, loader):
    watch = Watch()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    step = 0
    while True:
        for inputs, labels in loader:
            watch.attach(model)
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0:
                print(f"step {step} loss {loss.item():.3f} spread {watch.spread['2'].item():.2f}", flush=True)


torch.manual_seed(0)
torch.set_num_threads(1)
digits = TensorDataset(torch.randn(6400, 1, 16, 16), torch.randint(10, (6400,)))
train(
    torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 16, 3, stride=2),
        torch.nn.Flatten(),
        torch.nn.Linear(576, 10),
    ),
    DataLoader(digits, batch_size=32, shuffle=True),
)
