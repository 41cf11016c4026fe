"""Integrate a learned field by Runge and Kutta, many states at a time, in thousands of small operations.

R206: https://duoan.github.io/posts/profiling-pytorch-training-end-to-end
"""

import torch

torch.manual_seed(0)
device = torch.device("cuda")
STATES, WIDTH, MOMENTS = 8192, 64, 32


class Flow(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.leave = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, WIDTH)

    def field(self, states):
        return self.leave(torch.tanh(self.enter(states))) - 0.1 * states

    def forward(self, states):
        width = 1 / MOMENTS
        for _ in range(MOMENTS):
            first = self.field(states)
            second = self.field(states + width / 2 * first)
            third = self.field(states + width / 2 * second)
            fourth = self.field(states + width * third)
            states = states + width / 6 * (first + 2 * second + 2 * third + fourth)
        return states


flow = Flow().to(device)
starts = torch.randn(STATES, WIDTH, device=device)
ends = starts.roll(1, 1) * 0.9
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-3, fused=True)
step = 0
while True:
    loss = (flow(starts) - ends).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
