"""Lift two-dimensional keypoints of short motion clips to body poses.

R024: https://github.com/open-mmlab/mmhuman3d/pull/233
"""

import atexit
import shutil
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

TEMPLATE = None


def write_body_model(folder):
    rng = np.random.default_rng(0)
    np.savez_compressed(
        folder / "body.npz",
        vertices=rng.normal(size=(6890, 3)).astype("f4"),
        blend=rng.normal(size=(486, 6890 * 3)).astype("f4"),
        regressor=rng.random((17, 6890)).astype("f4"),
    )
    return folder / "body.npz"


class Clips(Dataset):
    def __init__(self, body, count=512, frames=27):
        self.body, self.count, self.frames = body, count, frames

    def open_body(self, worker):
        global TEMPLATE
        with np.load(self.body) as body:
            TEMPLATE = body["regressor"] @ body["vertices"] + body["blend"][:, :3].mean(0)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        pose = TEMPLATE + rng.normal(size=(self.frames, 17, 3)).astype("f4") * 0.1
        return torch.from_numpy(pose[..., :2].reshape(self.frames, 34).copy()), torch.from_numpy(
            pose[13].reshape(51)
        )


class Lifter(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.inp = nn.Linear(34, width)
        layer = nn.TransformerEncoderLayer(width, 6, 2 * width, batch_first=True, dropout=0.0)
        self.body = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(width, 51)

    def forward(self, joints):
        return self.out(self.body(self.inp(joints)).mean(1))


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    clips = Clips(write_body_model(folder))
    loader = DataLoader(
        clips, 32, shuffle=True, num_workers=2, worker_init_fn=clips.open_body, drop_last=True
    )
    model = Lifter()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.999)
    epoch = 0
    while True:
        total = 0.0
        for joints, pose in loader:
            loss = (model(joints) - pose).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        schedule.step()
        epoch += 1
        print(
            f"epoch {epoch} step {epoch * len(loader)} error {1000 * total / len(loader):.1f} mm", flush=True
        )
