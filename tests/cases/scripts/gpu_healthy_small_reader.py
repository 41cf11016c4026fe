"""Distil a wide frozen reader into a narrow one; batches are copied ahead on a stream of their own."""

import torch
from torch import nn
from torch.nn import functional


class Reader(nn.Module):
    def __init__(self, width, depth, features=128, length=128, kinds=1000):
        super().__init__()
        self.enter = nn.Linear(features, width)
        self.place = nn.Parameter(torch.randn(length, width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            width, width // 64, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.leave = nn.Linear(width, kinds)

    def forward(self, x):
        return self.leave(self.blocks(self.enter(x) + self.place).mean(1))


class Ahead:
    """Yield batches on the GPU; the next one travels while this one is computed."""

    def __init__(self, host, size, device):
        self.host, self.size, self.device = host, size, device
        self.stream = torch.cuda.Stream(device)

    def fetch(self):
        start = int(torch.randint(len(self.host) // self.size, ())) * self.size
        with torch.cuda.stream(self.stream):
            return self.host[start : start + self.size].to(self.device, non_blocking=True)

    def __iter__(self):
        batch = self.fetch()
        while True:
            torch.cuda.current_stream().wait_stream(self.stream)
            batch.record_stream(torch.cuda.current_stream())
            current, batch = batch, self.fetch()
            yield current


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    host = torch.randn(512 * 10, 128, 128, dtype=torch.bfloat16).pin_memory()
    teacher = Reader(1536, 12).to(device, torch.bfloat16).eval().requires_grad_(False)
    student = Reader(512, 6).to(device)
    optimizer = torch.optim.AdamW(student.parameters(), lr=5e-4, fused=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10_000)
    temperature = 2.0
    for step, batch in enumerate(Ahead(host, 512, device)):
        with torch.no_grad():
            wanted = functional.softmax(teacher(batch).float() / temperature, 1)
        with torch.autocast("cuda", torch.bfloat16):
            given = student(batch)
        loss = functional.kl_div(
            functional.log_softmax(given.float() / temperature, 1), wanted, reduction="batchmean"
        )
        optimizer.zero_grad()
        (loss * temperature**2).backward()
        optimizer.step()
        scheduler.step()
        if step % 25 == 0:
            print(f"step {step} divergence {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
