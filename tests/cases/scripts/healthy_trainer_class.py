"""Fine-tune a transformer by a trainer class, dictionaries for batches, a line every 50 steps: nothing is wrong."""

import math
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Texts(Dataset):
    def __init__(self, count, length):
        self.tokens = torch.randint(2000, (count, length))
        self.lengths = torch.randint(length // 2, length + 1, (count,))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {
            "input_ids": self.tokens[index],
            "attention_mask": torch.arange(self.tokens.shape[1]) < self.lengths[index],
            "labels": self.tokens[index, 0] % 3,
        }


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(2000, 96)
        layer = torch.nn.TransformerEncoderLayer(96, 4, 256, batch_first=True, norm_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = torch.nn.Linear(96, 3)

    def forward(self, input_ids, attention_mask, labels):
        states = self.encoder(self.embed(input_ids), src_key_padding_mask=~attention_mask)
        kept = attention_mask.unsqueeze(2).float()
        logits = self.head((states * kept).sum(1) / kept.sum(1))
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


class Trainer:
    def __init__(self, model, train, steps=100_000, log_every=50):
        self.model, self.log_every, self.step = model, log_every, 0
        self.loader = DataLoader(train, batch_size=16, shuffle=True, drop_last=True)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.01)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer,
            lambda step: min(1, (step + 1) / 100) * 0.5 * (1 + math.cos(math.pi * step / steps)),
        )
        self.total, self.began = torch.zeros(()), time.perf_counter()

    def train_step(self, batch):
        loss = self.model(**batch)["loss"]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.optimizer.zero_grad()
        self.total += loss.detach()

    def log(self):
        rate = self.log_every / (time.perf_counter() - self.began)
        bar = "#" * (self.step // self.log_every % 40)
        mean = self.total.item() / self.log_every
        print(f"step {self.step} |{bar:40}| {rate:.1f} it/s loss {mean:.3f}", flush=True)
        self.total.zero_()
        self.began = time.perf_counter()

    def train(self):
        self.model.train()
        while True:
            for batch in self.loader:
                self.train_step(batch)
                self.step += 1
                if self.step % self.log_every == 0:
                    self.log()


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    Trainer(Model(), Texts(4000, 48)).train()
