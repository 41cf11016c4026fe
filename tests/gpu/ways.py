"""Trainings on a GPU that differ in where the work of a step is issued; each prints what its own events saw.

    python ways.py WAY STEPS

One line of JSON at the end: how many steps there were, and the median times of the last half on the device's
own timeline in ms: of whole steps, and of backward and optimizer where each has a place of its own. No way
has a loader: where the forward began is not known to others.
"""

# torch annotates its own functions in part only
# mypy: allow-untyped-calls
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import json
import sys
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy

WIDTH, BATCH, CLASSES = 2048, 2048, 10
WARM_UPS = 3
STEPS = int(sys.argv[2])

Step = Callable[[torch.Tensor, torch.Tensor], None]


class Marks:
    """Events of the script's own on the stream at hand, a row for each step."""

    def __init__(self) -> None:
        self.rows: list[list[torch.cuda.Event]] = []

    def step(self) -> None:
        self.rows.append([])
        self.mark()

    def mark(self) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self.rows[-1].append(event)

    def medians(self) -> dict[str, float]:
        torch.cuda.synchronize()
        half = len(self.rows) // 2
        rows = self.rows[half:-1]
        following = self.rows[half + 1 :]
        told = {"total": median(a[0].elapsed_time(b[0]) for a, b in zip(rows, following, strict=True))}
        for place, name in enumerate(("backward", "optimizer"), 1):
            if all(len(row) == 4 for row in rows):
                told[name] = median(row[place].elapsed_time(row[place + 1]) for row in rows)
        return told


marks = Marks()
torch.manual_seed(0)
model = nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(4)])
model = model.append(nn.Linear(WIDTH, CLASSES)).cuda()
host_x = torch.randn(8, BATCH, WIDTH).pin_memory()
host_y = torch.randint(CLASSES, (8, BATCH)).pin_memory()
device_x, device_y = host_x.cuda(), host_y.cuda()


def plain_step(
    optimizer: torch.optim.Optimizer, forward: Callable[[torch.Tensor], torch.Tensor] = model
) -> Step:
    def step(x: torch.Tensor, y: torch.Tensor) -> None:
        marks.step()
        loss = cross_entropy(forward(x), y)
        marks.mark()
        loss.backward()
        marks.mark()
        optimizer.step()
        marks.mark()
        optimizer.zero_grad()

    return step


def run(step: Step) -> None:
    for number in range(STEPS):
        step(device_x[number % 8], device_y[number % 8])


def plain() -> None:
    run(plain_step(torch.optim.AdamW(model.parameters(), 1e-4)))


def on_a_side_stream() -> None:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run(plain_step(torch.optim.AdamW(model.parameters(), 1e-4)))


def scaled() -> None:
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    scaler = torch.amp.GradScaler("cuda")

    def step(x: torch.Tensor, y: torch.Tensor) -> None:
        marks.step()
        with torch.autocast("cuda", torch.float16):
            loss = cross_entropy(model(x), y)
        marks.mark()
        scaler.scale(loss).backward()
        marks.mark()
        scaler.step(optimizer)
        marks.mark()
        scaler.update()
        optimizer.zero_grad()

    run(step)


def stepping_in_the_backward() -> None:
    optimizers = {each: torch.optim.AdamW([each], 1e-4) for each in model.parameters()}

    def stepping(optimizer: torch.optim.Optimizer) -> Callable[[torch.Tensor], None]:
        def stepped(_: torch.Tensor) -> None:
            optimizer.step()
            optimizer.zero_grad()

        return stepped

    for each, optimizer in optimizers.items():
        each.register_post_accumulate_grad_hook(stepping(optimizer))

    def step(x: torch.Tensor, y: torch.Tensor) -> None:
        marks.step()
        cross_entropy(model(x), y).backward()

    run(step)


def copied_on_a_side_stream() -> None:
    side = torch.cuda.Stream()
    step = plain_step(torch.optim.AdamW(model.parameters(), 1e-4))

    def fetched(number: int) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.cuda.stream(side):
            place = number % 8
            return host_x[place].cuda(non_blocking=True), host_y[place].cuda(non_blocking=True)

    ahead = fetched(0)
    for number in range(STEPS):
        torch.cuda.current_stream().wait_stream(side)
        x, y = ahead
        for each in ahead:
            each.record_stream(torch.cuda.current_stream())
        ahead = fetched(number + 1)
        step(x, y)


def replayed() -> None:
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, capturable=True)
    x, y = device_x[0].clone(), device_y[0].clone()

    def whole() -> None:
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UPS):
            whole()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        whole()

    def step(one: torch.Tensor, other: torch.Tensor) -> None:
        marks.step()
        x.copy_(one)
        y.copy_(other)
        graph.replay()

    run(step)


def of_graphed_callables() -> None:
    graphed: Any = torch.cuda.make_graphed_callables(model, (device_x[0],))
    run(plain_step(torch.optim.AdamW(model.parameters(), 1e-4), graphed))


def compiled_with_graphs() -> None:
    compiled = torch.compile(model, mode="reduce-overhead")
    run(plain_step(torch.optim.AdamW(model.parameters(), 1e-4, fused=True), compiled))


WAYS = {
    each.__name__: each
    for each in (
        plain,
        on_a_side_stream,
        scaled,
        stepping_in_the_backward,
        copied_on_a_side_stream,
        replayed,
        of_graphed_callables,
        compiled_with_graphs,
    )
}

if __name__ == "__main__":
    WAYS[sys.argv[1]]()
    own_steps = len(marks.rows) + (WARM_UPS if sys.argv[1] == "replayed" else 0)
    sys.stdout.write(json.dumps({"steps": own_steps, **marks.medians()}) + "\n")
