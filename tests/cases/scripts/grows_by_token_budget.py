"""Fill each batch up to a number of tokens, and compile for static shapes: almost every batch is a new one.

R208: https://github.com/NVIDIA/TensorRT-LLM/issues/6142
"""

import random

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
torch._dynamo.config.recompile_limit = 400
torch._dynamo.config.accumulated_recompile_limit = 4000
draw = random.Random(0)
BUDGET = 1024


class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(1000, 64)
        self.hidden = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 64))
        self.tags = torch.nn.Linear(64, 9)

    def forward(self, words):
        rows = self.words(words)
        return self.tags(rows + self.hidden(rows))


def batches():
    while True:
        length = draw.randint(8, 128)
        yield torch.randint(1000, (max(1, BUDGET // length), length))


model = torch.compile(Tagger(), dynamic=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step, words in enumerate(batches(), start=1):
    loss = torch.nn.functional.cross_entropy(model(words).flatten(0, 1), words.flatten() % 9)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.3f}", flush=True)
