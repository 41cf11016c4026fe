"""Fetch rows of a columnar table one by one, each parsed from text into tensors on the way, with a worker per core.

R064: https://github.com/huggingface/datasets/issues/6279
"""

import json
import random

import torch
from torch.utils.data import DataLoader


class Table:
    """Columns of encoded cells; a row is decoded and formatted when it is asked for."""

    def __init__(self, rows):
        draw = random.Random(0)
        self.columns = {"features": [], "labels": []}
        for row in range(rows):
            cells = [[round(draw.gauss(0, 1), 5) for _ in range(64)] for _ in range(400)]
            self.columns["features"].append(json.dumps(cells))
            self.columns["labels"].append(json.dumps(row % 8))

    def __len__(self):
        return 20_000

    def __getitem__(self, index):
        row = index % len(self.columns["labels"])
        return {name: torch.tensor(json.loads(cells[row])) for name, cells in self.columns.items()}


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.1, batch_first=True)
        self.head = torch.nn.Linear(64, 8)

    def forward(self, features, labels):
        logits = self.head(self.encoder(features[:, ::10]).mean(1))
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


class Trainer:
    def __init__(self, model, table):
        self.model = model
        self.loader = DataLoader(table, batch_size=16, shuffle=True, num_workers=2, persistent_workers=True)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
        self.global_step = 0

    def training_step(self, inputs):
        self.model.train()
        loss = self.model(**inputs)["loss"]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def train(self):
        while True:
            for inputs in self.loader:
                loss = self.training_step(inputs)
                self.global_step += 1
                if self.global_step % 10 == 0:
                    print(f"step {self.global_step} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    Trainer(Classifier(), Table(96)).train()
