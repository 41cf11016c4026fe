"""Pretrain with the defaults of a repository for eight large GPUs: forty micro-batches of one text make a step.

R200: https://github.com/karpathy/nanoGPT/pull/225
"""

import numpy as np
import torch

torch.manual_seed(0)
torch.set_num_threads(1)
batch_size, gradient_accumulation_steps, block_size = 1, 40, 48
n_layer, n_head, n_embd, vocab_size = 2, 4, 64, 256
np.random.default_rng(0).integers(0, vocab_size, 500_000).astype(np.uint16).tofile("train.bin")


def get_batch():
    data = np.memmap("train.bin", dtype=np.uint16, mode="r")
    starts = torch.randint(len(data) - block_size - 1, (batch_size,)).tolist()
    rows = torch.from_numpy(np.stack([data[at : at + block_size + 1] for at in starts]).astype(np.int64))
    return rows[:, :-1], rows[:, 1:]


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = torch.nn.LayerNorm(n_embd), torch.nn.LayerNorm(n_embd)
        self.c_attn, self.c_proj = torch.nn.Linear(n_embd, 3 * n_embd), torch.nn.Linear(n_embd, n_embd)
        self.c_fc, self.c_out = torch.nn.Linear(n_embd, 4 * n_embd), torch.nn.Linear(4 * n_embd, n_embd)

    def forward(self, x):
        rows, length, _ = x.shape
        heads = self.c_attn(self.ln_1(x)).view(rows, length, 3, n_head, -1).permute(2, 0, 3, 1, 4)
        y = torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(rows, length, n_embd))
        return x + self.c_out(torch.nn.functional.gelu(self.c_fc(self.ln_2(x))))


class GPT(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = torch.nn.Embedding(vocab_size, n_embd), torch.nn.Embedding(block_size, n_embd)
        self.blocks = torch.nn.Sequential(*(Block() for _ in range(n_layer)))
        self.lm_head = torch.nn.Linear(n_embd, vocab_size)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        logits = self.lm_head(self.blocks(x))
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95))
iter_num = 0
X, Y = get_batch()
while True:
    for micro_step in range(gradient_accumulation_steps):
        loss = model(X, Y) / gradient_accumulation_steps
        X, Y = get_batch()
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    iter_num += 1
    if iter_num % 4 == 0:
        print(f"step {iter_num}: loss {loss.item() * gradient_accumulation_steps:.4f}", flush=True)
