"""Join graphs to one large graph in collate_fn, edge by edge in plain Python; the graphs themselves are ready."""

import random

import torch
from torch.utils.data import DataLoader, Dataset

NODES, EDGES = 50, 600


class Molecules(Dataset):
    def __init__(self, count):
        draw = random.Random(0)
        self.graphs = [
            (
                torch.randn(NODES, 16),
                [(draw.randrange(NODES), draw.randrange(NODES)) for _ in range(EDGES)],
                float(number % 3),
            )
            for number in range(count)
        ]

    def __len__(self):
        return 6400

    def __getitem__(self, index):
        return self.graphs[index % len(self.graphs)]


def join(graphs):
    edges, owners = [], []
    for number, (nodes, pairs, _) in enumerate(graphs):
        first = number * NODES
        for source, target in pairs:
            edges.append((first + source, first + target))
            edges.append((first + target, first + source))
        owners.extend(number for _ in nodes)
    edges = sorted(set(edges))
    return {
        "nodes": torch.cat([nodes for nodes, _, _ in graphs]),
        "edges": torch.tensor(edges).T.contiguous(),
        "owners": torch.tensor(owners),
        "targets": torch.tensor([target for _, _, target in graphs]),
    }


class MessagePassing(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.out = (
            torch.nn.Linear(32, 16),
            torch.nn.Linear(32, 16),
            torch.nn.Linear(16, 1),
        )

    def forward(self, nodes, edges, owners, graphs):
        for layer in (self.first, self.second):
            gathered = torch.zeros_like(nodes).index_add(0, edges[1], nodes[edges[0]])
            nodes = torch.relu(layer(torch.cat([nodes, gathered / EDGES], 1)))
        pooled = torch.zeros(graphs, 16).index_add(0, owners, nodes)
        return self.out(pooled).squeeze(1)


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader(
        Molecules(200), batch_size=64, shuffle=True, collate_fn=join, num_workers=2, persistent_workers=True
    )
    model = MessagePassing()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    step = 0
    while True:
        for graphs in loader:
            guess = model(graphs["nodes"], graphs["edges"], graphs["owners"], len(graphs["targets"]))
            loss = torch.nn.functional.mse_loss(guess, graphs["targets"])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)
