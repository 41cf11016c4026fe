"""Keep the first half of a model where it once had to be for lack of memory, and train the second half on the GPU."""

import torch

torch.manual_seed(0)
FRONT, BACK = torch.device("cpu"), torch.device("cuda")


class Split(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.front = torch.nn.Sequential(
            torch.nn.Linear(2048, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 2048), torch.nn.GELU()
        ).to(FRONT)
        self.back = torch.nn.Sequential(
            torch.nn.Linear(2048, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 50)
        ).to(BACK)

    def forward(self, rows):
        return self.back(self.front(rows.to(FRONT)).to(BACK))


model = Split()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
rows, labels = torch.randn(512, 2048), torch.randint(50, (512,), device=BACK)
step = 0
while True:
    loss = torch.nn.functional.cross_entropy(model(rows), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
