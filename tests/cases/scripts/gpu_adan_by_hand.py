"""Fine-tune a wide byte-level transformer with Adan, written down from the paper."""

import torch
from torch import nn

BATCH, LENGTH, WIDTH = 2, 512, 4096


class Adan(torch.optim.Optimizer):
    def __init__(self, parameters, lr=1e-3, betas=(0.02, 0.08, 0.01), eps=1e-8):
        super().__init__(parameters, dict(lr=lr, betas=betas, eps=eps))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            first, second, third = group["betas"]
            for weight in group["params"]:
                gradient, state = weight.grad, self.state[weight]
                if not state:
                    state["before"] = gradient.clone()
                    for name in ("mean", "change", "square"):
                        state[name] = torch.zeros_like(weight)
                change = gradient - state["before"]
                state["mean"].lerp_(gradient, first)
                state["change"].lerp_(change, second)
                ahead = gradient + (1 - second) * change
                state["square"].mul_(1 - third).addcmul_(ahead, ahead, value=third)
                size = state["square"].sqrt().add_(group["eps"])
                move = state["mean"] + (1 - second) * state["change"]
                weight.addcdiv_(move, size, value=-group["lr"])
                state["before"].copy_(gradient)


class Model(nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.embed = nn.Embedding(256, WIDTH)
        self.place = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.02)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, 32, 4 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.head = nn.Linear(WIDTH, 256)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(LENGTH))

    def forward(self, tokens):
        x = self.embed(tokens) + self.place
        for block in self.blocks:
            x = block(x, src_mask=self.mask, is_causal=True)
        return self.head(x)


torch.manual_seed(0)
with torch.device("cuda"):
    model = Model()
    text = torch.randint(256, (1_000_000,))
    window = torch.arange(LENGTH + 1)
optimizer = Adan(model.parameters(), lr=1e-4)
step = 0
while True:
    rows = text[torch.randint(len(text) - LENGTH - 1, (BATCH, 1), device="cuda") + window]
    with torch.autocast("cuda", torch.bfloat16):
        logits = model(rows[:, :-1])
    loss = nn.functional.cross_entropy(logits.float().flatten(0, 1), rows[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
