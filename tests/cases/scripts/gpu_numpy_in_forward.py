"""Leave the GPU for numpy in the middle of the forward, at every layer: it idles until the numbers are back.

R110: https://alpha.hashtagplus.com/hashtag/ingero
"""

import torch

torch.manual_seed(0)
device = torch.device("cuda")


class Ranked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Linear(2048, 2048)

    def forward(self, inputs):
        hidden = torch.relu(self.mix(inputs))
        scale = hidden.detach().abs().mean(0).float().cpu().numpy()
        return inputs + hidden / float(scale.max())


model = torch.nn.Sequential(*(Ranked() for _ in range(24))).to(device)
inputs = torch.randn(2048, 2048, device=device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
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
