"""Train a transformer in float32 with TF32 off, as torch has it by default: the tensor cores are not used.

R181: https://github.com/pytorch/pytorch/issues/153195
"""

import torch

torch.manual_seed(0)
device = torch.device("cuda")
layers = [torch.nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True) for _ in range(8)]
model = torch.nn.Sequential(*layers).to(device)
inputs = torch.randn(32, 256, 1024, device=device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
step = 0
while True:
    loss = model(inputs).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 5 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
