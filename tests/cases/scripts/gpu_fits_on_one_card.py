"""Finetune a language model beside others on one card, with little memory to spare."""

import torch
from torch import nn
from torch.nn import functional


class BudgetAdamW(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, dict(lr=lr))
        self.working = [weight for group in self.param_groups for weight in group["params"]]
        self.masters = [nn.Parameter(weight.detach().float().cpu().pin_memory()) for weight in self.working]
        for master in self.masters:
            master.grad = torch.zeros(master.shape, pin_memory=True)
        self.inner = torch.optim.AdamW(self.masters, lr=lr, weight_decay=0.1)

    @torch.no_grad()
    def step(self, closure=None):
        for weight, master in zip(self.working, self.masters):
            master.grad.copy_(weight.grad, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        self.inner.step()
        for weight, master in zip(self.working, self.masters):
            weight.copy_(master, non_blocking=True)


class LanguageModel(nn.Module):
    def __init__(self, words=16384, width=640, depth=10, length=512):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(
            width, 10, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        self.register_buffer("mask", mask)

    def forward(self, tokens):
        x = self.words(tokens) + self.places.weight
        return self.blocks(x, mask=self.mask, is_causal=True) @ self.words.weight.T


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = LanguageModel().to(device, torch.float32)
    optimizer = BudgetAdamW(model.parameters(), lr=3e-5)
    corpus = torch.randint(16384, (2_000_000,), device=device)
    offsets = torch.arange(513, device=device)
    step = 0
    while True:
        rows = corpus[torch.randint(len(corpus) - 513, (16, 1), device=device) + offsets]
        with torch.autocast("cuda", torch.bfloat16):
            logits = model(rows[:, :-1])
            loss = functional.cross_entropy(logits.float().flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
