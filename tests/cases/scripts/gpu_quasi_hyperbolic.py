"""Fit a very deep residual perceptron to a simulator with quasi-hyperbolic momentum and a warm-up.

R105: https://github.com/Koratahiu/Advanced_Optimizers/pull/5
"""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x):
        return x + nn.functional.gelu(self.mix(self.norm(x)))


class QHM(torch.optim.Optimizer):
    """Quasi-hyperbolic momentum (Ma and Yarats, 2019) with its own schedule."""

    def __init__(self, params, lr=1e-3, beta=0.99, nu=0.7, warmup=200, device="cuda"):
        super().__init__(params, dict(lr=lr, beta=beta, nu=nu, warmup=warmup))
        self.count = torch.zeros((), device=device)

    @torch.no_grad()
    def step(self, closure=None):
        self.count += 1
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            grads = [weight.grad for weight in weights]
            for weight in weights:
                if not self.state[weight]:
                    self.state[weight]["average"] = torch.zeros_like(weight)
            averages = [self.state[weight]["average"] for weight in weights]
            torch._foreach_lerp_(averages, grads, 1 - group["beta"])
            rate = group["lr"] * torch.clamp(self.count / group["warmup"], max=1.0)
            plain, smooth = -rate * (1 - group["nu"]), -rate * group["nu"]
            for weight, grad, average in zip(weights, grads, averages):
                weight.add_(grad, alpha=plain)
                weight.add_(average, alpha=smooth)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    width = 1024
    model = nn.Sequential(nn.Linear(64, width), *(Block(width) for _ in range(150)), nn.Linear(width, 8))
    model.to(device, torch.bfloat16)
    inputs = torch.randn(200_000, 64, device=device, dtype=torch.bfloat16)
    outputs = torch.sin(inputs[:, :8] * 2) * inputs[:, 8:16]
    optimizer = QHM(model.parameters(), device=device)
    step = 0
    while True:
        rows = torch.randint(len(inputs), (6144,), device=device)
        loss = nn.functional.mse_loss(model(inputs[rows]), outputs[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
