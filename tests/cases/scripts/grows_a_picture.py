"""Grow a picture by a cellular automaton, 64 updates long, from a pool of states that are kept."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

CHANNELS, SIDE, POOL, BATCH, UPDATES, SEGMENT = 16, 64, 7500, 8, 64, 8


class Automaton(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        sobel = torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]]) / 8
        still = torch.zeros(3, 3)
        still[1, 1] = 1
        self.register_buffer(
            "filters", torch.stack([still, sobel, sobel.T])[:, None].repeat(CHANNELS, 1, 1, 1)
        )
        self.rule = nn.Sequential(
            nn.Conv2d(3 * CHANNELS, hidden, 1), nn.GELU(), nn.Conv2d(hidden, CHANNELS, 1)
        )
        nn.init.zeros_(self.rule[-1].weight)

    def segment(self, state):
        for _ in range(SEGMENT):
            seen = F.conv2d(state, self.filters, padding=1, groups=CHANNELS)
            fired = (torch.rand(len(state), 1, SIDE, SIDE) < 0.5).float()
            state = state + self.rule(seen) * fired
        return state

    def forward(self, state):
        for _ in range(UPDATES // SEGMENT):
            state = checkpoint(self.segment, state, use_reentrant=False)
        return state


class Pool:
    def __init__(self):
        self.seed = torch.zeros(CHANNELS, SIDE, SIDE)
        self.seed[3:, SIDE // 2, SIDE // 2] = 1
        self.states = self.seed.expand(POOL, -1, -1, -1).clone()

    def draw(self):
        places = torch.randint(POOL, (BATCH,))
        batch = self.states[places]
        batch[0] = self.seed
        return places, batch

    def put(self, places, states):
        self.states[places] = states.clamp(-3, 3)


def picture():
    row, column = torch.meshgrid(torch.linspace(-1, 1, SIDE), torch.linspace(-1, 1, SIDE), indexing="ij")
    distance = (row.square() + column.square()).sqrt()
    alive = (distance < 0.8).float()
    return torch.stack([alive * (1 - distance), alive * row.abs(), alive * column.abs(), alive])


torch.manual_seed(0)
automaton, pool, target = Automaton(), Pool(), picture()
optimizer = torch.optim.Adam(automaton.parameters(), lr=1e-3)
step = 0
while True:
    places, states = pool.draw()
    grown = automaton(states)
    loss = F.mse_loss(grown[:, :4], target.expand(BATCH, -1, -1, -1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(automaton.parameters(), 1.0)
    optimizer.step()
    pool.put(places, grown.detach())
    step += 1
    print(f"step {step} log10 loss {loss.log10().item():.3f}", flush=True)
