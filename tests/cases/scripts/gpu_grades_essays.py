"""Finetune a transformer that grades essays, with the best weights kept for early stopping."""

import copy

import torch
from torch import nn
from torch.nn import functional


class Grader(nn.Module):
    def __init__(self, words=20_000, width=512, depth=6, length=256):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Parameter(torch.randn(length, width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            width, 8, 4 * width, 0.1, "gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.leave = nn.Linear(width, 6)

    def forward(self, tokens):
        return self.leave(self.blocks(self.words(tokens) + self.places).mean(1))


class Trainer:
    def __init__(self, device, batch=96, eval_steps=25):
        self.device, self.batch, self.eval_steps = device, batch, eval_steps
        self.model = Grader().to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.train_set = self.essays(200 * batch)
        self.held_out = self.essays(120 * batch)
        self.best, self.best_weights = 0.0, None

    def essays(self, count):
        tokens = torch.randint(20_000, (count, 256), device=self.device)
        return tokens, torch.randint(6, (count,), device=self.device)

    def training_step(self):
        tokens, grades = self.train_set
        rows = torch.randint(len(grades), (self.batch,), device=self.device)
        with torch.autocast("cuda", torch.bfloat16):
            loss = functional.cross_entropy(self.model(tokens[rows]), grades[rows])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        right = torch.zeros((), device=self.device)
        for tokens, grades in zip(*(part.split(self.batch) for part in self.held_out)):
            with torch.autocast("cuda", torch.bfloat16):
                right += (self.model(tokens).argmax(1) == grades).sum()
        self.model.train()
        return right.item() / len(self.held_out[1])

    def fit(self):
        step = 0
        while True:
            self.training_step()
            step += 1
            if step % self.eval_steps == 0:
                accuracy = self.evaluate()
                print(f"step {step} accuracy {accuracy:.4f}", flush=True)
                if accuracy > self.best:
                    self.best, self.best_weights = accuracy, copy.deepcopy(self.model.state_dict())


if __name__ == "__main__":
    torch.manual_seed(0)
    Trainer(torch.device("cuda")).fit()
