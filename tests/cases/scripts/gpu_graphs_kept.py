"""Sum the loss itself, not its number, over the whole training: the graph of every step stays on the GPU."""

import torch

torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
device = torch.device("cuda")
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).to(
    device
)
inputs = torch.randn(32768, 1024, device=device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
total = 0.0
step = 0
while True:
    loss = model(inputs).pow(2).mean()
    total = total + model(inputs[:512]).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 50 == 0:
        print(f"step {step} mean {total.item() / step:.3f}", flush=True)
