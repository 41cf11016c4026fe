"""Average the gradients of two ranks by hand, one tensor after the other, once the backward is over."""

import torch
import torch.distributed as dist


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.wide, self.narrow = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)

    def forward(self, rows):
        return rows + self.narrow(torch.nn.functional.gelu(self.wide(self.norm(rows))))


def average(weights):
    for weight in weights:
        dist.all_reduce(weight.grad)
        weight.grad /= dist.get_world_size()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(*(Block(48) for _ in range(24)), torch.nn.Linear(48, 1))
    weights = list(model.parameters())
    optimizer = torch.optim.SGD(weights, lr=0.01)
    generator = torch.Generator().manual_seed(dist.get_rank())
    step = 0
    while True:
        rows = torch.randn(64, 48, generator=generator)
        loss = (model(rows).squeeze(1) - rows.sum(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        average(weights)
        optimizer.step()
        step += 1
        if step % 10 == 0 and dist.get_rank() == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)


main()
