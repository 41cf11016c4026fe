"""Update each matrix by an orthogonalised momentum, with a small batch: the update costs more than the gradient."""

import torch
from torch.utils.data import DataLoader, TensorDataset


class Orthogonal(torch.optim.Optimizer):
    """Momentum, brought near an orthogonal matrix by five Newton-Schulz iterations."""

    def __init__(self, weights, lr=0.02, momentum=0.95):
        super().__init__(weights, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                buffer = state.setdefault("buffer", torch.zeros_like(weight))
                buffer.lerp_(weight.grad, 1 - group["momentum"])
                update = self.orthogonal(buffer) if weight.ndim == 2 else buffer
                weight.add_(update, alpha=-group["lr"])

    @staticmethod
    def orthogonal(matrix):
        square = matrix / (matrix.norm() + 1e-7)
        for _ in range(5):
            gram = square @ square.T
            square = 3.4445 * square + (-4.775 * gram + 2.0315 * gram @ gram) @ square
        return square


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rows = TensorDataset(torch.randn(3200, 256), torch.randint(256, (3200,)))
    loader = DataLoader(rows, batch_size=64, shuffle=True)
    layers = []
    for _ in range(5):
        layers += [torch.nn.Linear(256, 256), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(256, 256))
    optimizer = Orthogonal(model.parameters())
    step = 0
    while True:
        for inputs, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)


main()
