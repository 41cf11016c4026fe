"""Raise the sequence length by and by until the memory is not enough: the training ends with out of memory."""

import torch

torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
device = torch.device("cuda")
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).to(
    device
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
total = torch.cuda.get_device_properties(device).total_memory
full_at = total // (4 * (1024 + 3 * 4096 + 2 * 1024))  # rows whose activations fill the card
for step in range(1, 100_000):
    rows = full_at // 50 if step < 400 else full_at * (step - 350) // 100
    inputs = torch.randn(rows, 1024, device=device)
    loss = model(inputs).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step} rows {rows} loss {loss.item():.3f}", flush=True)
