"""Train on a small table with spawned workers, which start and import again at every epoch.

R023: https://github.com/boreshkinai/delta-interpolator/pull/3
"""

import itertools

import torch
from torch.utils.data import DataLoader, Dataset


class Motions(Dataset):
    def __len__(self):
        return 3200

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randn(30, 66, generator=generator), torch.randn(66, generator=generator)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader(
        Motions(), batch_size=32, shuffle=True, num_workers=2, multiprocessing_context="spawn"
    )
    model = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(30 * 66, 512), torch.nn.ReLU(), torch.nn.Linear(512, 66)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    step = 0
    for epoch in itertools.count():
        for past, future in loader:
            loss = torch.nn.functional.l1_loss(model(past), future)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 50 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
