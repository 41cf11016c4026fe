"""Write CUDA_LAUNCH_BLOCKING=1 into the training script for a stack trace, and leave it there.

R118: https://github.com/jishengpeng/WavTokenizer/issues/17
"""

import os

os.environ["CUDA_LAUNCH_BLOCKING"] = "1"

import torch

torch.manual_seed(0)
device = torch.device("cuda")
layers = [torch.nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True) for _ in range(12)]
model = torch.nn.Sequential(*layers).to(device)
inputs = torch.randn(64, 128, 256, device=device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
step = 0
while True:
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(inputs).float().pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
