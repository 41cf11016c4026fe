"""Train a small language model on windows of one long text, without a loader: nothing is wrong with it."""

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
text = torch.randint(256, (200_000,))
mask = torch.nn.Transformer.generate_square_subsequent_mask(64)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(256, 96)
        layer = torch.nn.TransformerEncoderLayer(96, 4, 384, dropout=0.0, batch_first=True)
        self.layers, self.head = torch.nn.TransformerEncoder(layer, 2), torch.nn.Linear(96, 256)

    def forward(self, tokens):
        return self.head(self.layers(self.embed(tokens), mask=mask, is_causal=True))


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
step = 0
while True:
    starts = torch.randint(len(text) - 65, (16,))
    window = torch.stack([text[start : start + 65] for start in starts])
    loss = torch.nn.functional.cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
