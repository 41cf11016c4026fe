"""Find the eight nearest points of each point by ordering all of them, in every layer of a point-cloud network."""

import torch
from torch.utils.data import DataLoader, TensorDataset

NEIGHBOURS = 8


def nearest(points):
    with torch.no_grad():
        distances = torch.cdist(points, points)
        return distances.argsort(-1)[:, :, 1 : NEIGHBOURS + 1]


class EdgeLayer(torch.nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.edges = torch.nn.Linear(2 * width, out)

    def forward(self, points):
        index = nearest(points)
        rows = torch.arange(len(points)).view(-1, 1, 1)
        around = points[rows, index]
        centre = points.unsqueeze(2).expand_as(around)
        return torch.relu(self.edges(torch.cat([centre, around - centre], -1))).amax(2)


class Clouds(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = EdgeLayer(3, 8), EdgeLayer(8, 16), torch.nn.Linear(16, 6)

    def forward(self, points):
        return self.head(self.second(self.first(points)).mean(1))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(800, 512, 3), torch.randint(6, (800,)))
    loader = DataLoader(data, batch_size=4, shuffle=True)
    model = Clouds()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    step = 0
    while True:
        for points, kinds in loader:
            loss = torch.nn.functional.cross_entropy(model(points), kinds)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)


main()
