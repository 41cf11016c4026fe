"""Scripts that have never heard of settings; each says what it sees, as JSON in its last line."""

import json
from typing import TYPE_CHECKING, Any

from perftui.ipc.messages import Effective, Goodbye
from perftui.ipc.settings import Settings

if TYPE_CHECKING:
    from .conftest import Hub

CONVOLUTIONS = """
import json
import time
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 4)

    def forward(self, images):
        return self.head(torch.relu(self.norm(self.conv(images))).mean((2, 3)))

data = TensorDataset(torch.randn(96, 3, 12, 12), torch.arange(96) % 4)
model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
losses, kinds = [], set()
for images, labels in DataLoader(data, batch_size=8):
    optimizer.zero_grad()
    logits = model(images)
    kinds.add(str(logits.dtype))
    loss = nn.functional.cross_entropy(logits, labels)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
print(json.dumps({"losses": losses, "kinds": sorted(kinds), "keys": list(model.state_dict()),
                  "last": model.conv.weight.is_contiguous(memory_format=torch.channels_last)}))
time.sleep(2)  # what is in force is read once a second
"""

TWO_RANKS = """
import json
import time
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
dist.init_process_group("gloo")
data = TensorDataset(torch.randn(96, 3, 8, 8), torch.arange(96) % 4)
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 4))
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
losses = []
for images, labels in DataLoader(data, batch_size=8):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
own = {name: getattr(model, name) for name in
       ("bucket_bytes_cap", "gradient_as_bucket_view", "static_graph", "find_unused_parameters")}
if dist.get_rank() == 0:
    print(json.dumps({"losses": losses, "ddp": own, "keys": list(model.state_dict())}))
time.sleep(2)
dist.destroy_process_group()
"""


def train_on(body: str, forward: str = "model(images)") -> str:
    """Return a short training of what `body` builds as `model` and `optimizer`; it prints its losses."""
    return f"""
import json
import time
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
data = TensorDataset(torch.randn(64, 3, 8, 8), torch.arange(64) % 4)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.head = nn.Linear(288, 4)

    def features(self, images):
        return torch.relu(self.conv(images)).flatten(1)

    def forward(self, images):
        return self.head(self.features(images))

{body}
losses = []
for images, labels in DataLoader(data, batch_size=8):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy({forward}, labels)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(json.dumps({{"losses": losses}}))
time.sleep(2)
"""


PLAIN = "model = Net()\noptimizer = torch.optim.SGD(model.parameters(), lr=0.01)"


def trained(hub: "Hub", script: str, settings: Settings) -> tuple[Any, Effective]:
    """Run a script under settings; return what it says and the last reading of what is in force."""
    hub.apply(settings=settings)
    outcome = hub.train(script)
    assert outcome.exit_code == 0, outcome.stderr
    assert not any(message.errors for message in outcome.of(Goodbye))
    return json.loads(outcome.stdout.splitlines()[-1]), outcome.of(Effective)[-1]
