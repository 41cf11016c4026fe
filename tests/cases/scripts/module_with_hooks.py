"""Train a classifier of spectra by a module with hooks and a trainer that calls them."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SpectraModule(nn.Module):
    def __init__(self, classes=40):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(600, 768), nn.GELU(), nn.Linear(768, 768), nn.GELU(), nn.Linear(768, 512), nn.GELU()
        )
        self.head = nn.Linear(512, classes)
        self.outputs = []
        self.epoch = self.steps = 0

    def training_step(self, batch):
        spectra, targets = batch
        self.steps += 1
        features = self.body(spectra)
        scores = self.head(features)
        loss = nn.functional.cross_entropy(scores, targets, label_smoothing=0.1)
        self.outputs.append({"loss": loss.detach(), "features": features.detach(), "targets": targets})
        return loss

    def on_train_epoch_end(self):
        last = self.outputs[-20:]
        loss = torch.stack([output["loss"] for output in last]).mean()
        spread = torch.cat([output["features"] for output in last]).std(0).mean()
        self.epoch += 1
        print(f"step {self.steps} loss {loss.item():.3f} spread {spread:.3f}", flush=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.02, momentum=0.9)


class Trainer:
    def __init__(self, gradient_clip=1.0):
        self.gradient_clip = gradient_clip

    def fit(self, module, loader):
        optimizer = module.configure_optimizers()
        while True:
            for batch in loader:
                optimizer.zero_grad()
                module.training_step(batch).backward()
                nn.utils.clip_grad_norm_(module.parameters(), self.gradient_clip)
                optimizer.step()
            module.on_train_epoch_end()


if __name__ == "__main__":
    torch.manual_seed(3)
    targets = torch.randint(40, (12_800,))
    spectra = torch.randn(40, 600)[targets] + 2 * torch.randn(12_800, 600)
    loader = DataLoader(TensorDataset(spectra, targets), batch_size=128, shuffle=True, drop_last=True)
    Trainer().fit(SpectraModule(), loader)
