"""Train a message-passing network on graphs that a collate_fn joins by offsets: nothing is wrong with it."""

import torch
from torch.utils.data import DataLoader

NODES, EDGES, WIDTH = 60, 240, 64


def join(graphs):
    return {
        "nodes": torch.cat([graph["nodes"] for graph in graphs]),
        "edges": torch.cat([graph["edges"] + NODES * number for number, graph in enumerate(graphs)], 1),
        "owner": torch.arange(len(graphs)).repeat_interleave(NODES),
        "target": torch.stack([graph["target"] for graph in graphs]),
    }


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.message, self.update = torch.nn.Linear(2 * WIDTH, WIDTH), torch.nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, nodes, edges):
        source, target = edges
        sent = torch.relu(self.message(torch.cat([nodes[source], nodes[target]], 1)))
        received = torch.zeros_like(nodes).index_add(0, target, sent)
        return nodes + torch.relu(self.update(torch.cat([nodes, received], 1)))


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.leave = torch.nn.Linear(16, WIDTH), torch.nn.Linear(WIDTH, 1)
        self.layers = torch.nn.ModuleList(Layer() for _ in range(3))

    def forward(self, batch):
        nodes = self.enter(batch["nodes"])
        for layer in self.layers:
            nodes = layer(nodes, batch["edges"])
        pooled = torch.zeros(len(batch["target"]), WIDTH).index_add(0, batch["owner"], nodes)
        return self.leave(pooled / NODES).squeeze(1)


torch.manual_seed(0)
torch.set_num_threads(1)
graphs = [
    {"nodes": torch.randn(NODES, 16), "edges": torch.randint(NODES, (2, EDGES)), "target": torch.randn(())}
    for _ in range(1600)
]
loader = DataLoader(graphs, batch_size=32, shuffle=True, collate_fn=join)
model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
step = 0
while True:
    for batch in loader:
        loss = torch.nn.functional.l1_loss(model(batch), batch["target"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
