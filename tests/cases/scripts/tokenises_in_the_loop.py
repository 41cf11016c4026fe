"""Tokenise each batch in the training loop itself, with regular expressions and a dictionary."""

import random
import re

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
draw = random.Random(0)
texts = [" ".join(f"Word{draw.randrange(400)}," for _ in range(200)) for _ in range(2000)]
vocabulary = {f"word{number}": number for number in range(400)}


def tokenise(text):
    words = re.findall(r"[a-z]+[0-9]+", text.lower())
    return [vocabulary.get(word, 0) for word in words]


model = torch.nn.Sequential(torch.nn.EmbeddingBag(400, 64), torch.nn.ReLU(), torch.nn.Linear(64, 400))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
step = 0
while True:
    batch = [tokenise(text) for text in draw.sample(texts, 64)]
    tokens = torch.tensor(batch)
    scores = model(tokens[:, :-1])
    loss = torch.nn.functional.cross_entropy(scores, tokens[:, -1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
