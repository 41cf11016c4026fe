"""Plain training scripts that never heard of perftui, as text."""

STARVED = """
import sys, time
import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
torch.manual_seed(0)
steps, code, item_s = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])

class Slow(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        time.sleep(item_s)
        generator = torch.Generator().manual_seed(index)
        return torch.randn(16, generator=generator), index % 4

model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
count, total = 0, 0.0
for inputs, labels in DataLoader(Slow(), batch_size=4):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    count += 1
    total += loss.item()
    if count % 20 == 0:
        print("step", count, flush=True)
    if count == steps:
        break
print("steps", count, "last", loss.item(), "total", total)
print("to stderr", file=sys.stderr)
sys.exit(code)
"""

SAVING = """
import json, os, time
from pathlib import Path
import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
here = Path(__file__).parent

class Slow(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        time.sleep(0.004)
        return torch.randn(16), index % 4

model = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if (here / "last.pt").exists():
    model.load_state_dict(torch.load(here / "last.pt", weights_only=True))
count = 0
for inputs, labels in DataLoader(Slow(), batch_size=4):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()
    count += 1
    if os.environ.get("PERFTUI_TRIAL"):
        torch.save(model.state_dict(), here / "last.tmp")
        os.replace(here / "last.tmp", here / "last.pt")
        (here / "metrics.json").write_text(json.dumps({"step": count}))
        with (here / "log.csv").open("a") as log:
            log.write(f"{count}\\n")
        for old in here.glob("old-*.pt"):
            old.unlink()
"""

TWO_RANKS = """
import os, time
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()

class Shard(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        if rank == 1:
            time.sleep(0.01)
        return torch.randn(16), index % 4

model = DistributedDataParallel(torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
count = 0
for inputs, labels in DataLoader(Shard(), batch_size=4):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()
    count += 1
    if count == 150:
        break
print(f"rank {rank} steps {count}\\n", end="", flush=True)  # one write: two ranks print at once
dist.destroy_process_group()
"""
