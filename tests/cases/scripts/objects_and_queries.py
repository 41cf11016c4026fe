"""Train a small set-prediction detector: fifty queries, each object paired with one of them."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Detector(nn.Module):
    def __init__(self, width=64, queries=50, classes=10):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(queries, width))
        self.decoder = nn.TransformerDecoderLayer(width, 4, 128, dropout=0.0, batch_first=True)
        self.classes, self.boxes = nn.Linear(width, classes + 1), nn.Linear(width, 4)

    def forward(self, features):
        states = self.decoder(self.queries.expand(len(features), -1, -1), features)
        return self.classes(states), self.boxes(states).sigmoid()


def assign(cost):
    rows, columns = len(cost), len(cost[0])
    u, v, owner, way = [0.0] * (rows + 1), [0.0] * (columns + 1), [0] * (columns + 1), [0] * (columns + 1)
    for row in range(1, rows + 1):
        owner[0], column = row, 0
        least, used = [1e9] * (columns + 1), [False] * (columns + 1)
        while owner[column]:
            used[column] = True
            current, delta, following = owner[column], 1e9, 0
            for j in range(1, columns + 1):
                if not used[j]:
                    reduced = cost[current - 1][j - 1] - u[current] - v[j]
                    if reduced < least[j]:
                        least[j], way[j] = reduced, column
                    if least[j] < delta:
                        delta, following = least[j], j
            for j in range(columns + 1):
                if used[j]:
                    u[owner[j]], v[j] = u[owner[j]] + delta, v[j] - delta
                else:
                    least[j] -= delta
            column = following
        while column:
            owner[column], column = owner[way[column]], way[column]
    return [j - 1 for _, j in sorted((row, j) for j, row in enumerate(owner) if row and j)]


@torch.no_grad()
def match(logits, boxes, labels, targets):
    likely = logits.softmax(-1).gather(2, labels[:, None].expand(-1, logits.shape[1], -1))
    costs = (5 * torch.cdist(boxes, targets, p=1) - likely).transpose(1, 2).tolist()
    return torch.tensor([assign(cost) for cost in costs])


if __name__ == "__main__":
    torch.set_num_threads(1)
    images = TensorDataset(torch.randn(1600, 36, 64), torch.randint(10, (1600, 28)), torch.rand(1600, 28, 4))
    loader, model, step = DataLoader(images, batch_size=32, shuffle=True), Detector(), 0
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    while True:
        for features, labels, targets in loader:
            logits, boxes = model(features)
            index = match(logits, boxes, labels, targets)
            wanted = torch.full(logits.shape[:2], 10).scatter(1, index, labels).flatten()
            paired = boxes.gather(1, index[..., None].expand(-1, -1, 4))
            loss = F.cross_entropy(logits.flatten(0, 1), wanted) + 5 * F.l1_loss(paired, targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if (step := step + 1) % 20 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)
