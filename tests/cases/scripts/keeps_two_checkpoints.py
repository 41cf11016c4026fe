"""Save model, optimizer, schedule and random state every 20 steps into a folder of its own, and keep the last two."""

import os
import shutil

import torch
from torch.utils.data import DataLoader, TensorDataset


class Recommender(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.items = torch.nn.EmbeddingBag(48_000, 256, sparse=True)
        self.head = torch.nn.Linear(256, 40)

    def forward(self, history):
        return self.head(self.items(history))


class Trainer:
    def __init__(self, model, data, save_steps, keep):
        self.model, self.save_steps, self.keep = model, save_steps, keep
        self.loader = DataLoader(data, batch_size=64, shuffle=True)
        self.optimizers = {
            "items": torch.optim.SparseAdam(model.items.parameters(), lr=1e-3),
            "head": torch.optim.Adam(model.head.parameters(), lr=1e-3),
        }
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizers["head"], 500)
        self.step = 0

    def save(self):
        folder = f"checkpoint-{self.step}"
        os.makedirs(folder, exist_ok=True)
        torch.save(self.model.state_dict(), f"{folder}/model.pt")
        torch.save(
            {name: each.state_dict() for name, each in self.optimizers.items()}, f"{folder}/optimizer.pt"
        )
        torch.save(
            {"schedule": self.schedule.state_dict(), "random": torch.get_rng_state()}, f"{folder}/rest.pt"
        )
        old = sorted(int(name.split("-")[1]) for name in os.listdir() if name.startswith("checkpoint-"))
        for step in old[: -self.keep]:
            shutil.rmtree(f"checkpoint-{step}")

    def train(self):
        while True:
            for history, bought in self.loader:
                loss = torch.nn.functional.cross_entropy(self.model(history), bought)
                for optimizer in self.optimizers.values():
                    optimizer.zero_grad()
                loss.backward()
                for optimizer in self.optimizers.values():
                    optimizer.step()
                self.schedule.step()
                self.step += 1
                if self.step % 20 == 0:
                    print(f"step {self.step} loss {loss.item():.3f}", flush=True)
                if self.step % self.save_steps == 0:
                    self.save()


torch.manual_seed(0)
torch.set_num_threads(1)
purchases = TensorDataset(torch.randint(48_000, (12_800, 12)), torch.randint(40, (12_800,)))
Trainer(Recommender(), purchases, save_steps=20, keep=2).train()
