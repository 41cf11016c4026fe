"""A small real training that calls the runner of profiling windows; prints each report as a line of JSON."""

# torch annotates its own functions in part only
# mypy: allow-untyped-calls
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from perftui.ipc.messages import FINAL_STATES, ArmWindow, Preset, WindowReport
from perftui.trainer.profiling.window import WindowRunner

FOLDER = Path(sys.argv[2])
reports: list[dict[str, Any]] = []
settled = threading.Condition()


def report(told: WindowReport) -> None:
    say(
        {
            "id": told.window_id,
            "state": told.state,
            "reason": told.reason,
            "start": told.start_step,
            "steps": told.steps,
            "path": told.path,
            "cost_ms": told.cost_ms,
            "events": told.events,
            "preset": told.preset,
        }
    )


def say(line: dict[str, Any]) -> None:
    with settled:
        reports.append(line)
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
        settled.notify_all()


def settle(window_id: str) -> None:
    with settled:
        arrived = settled.wait_for(
            lambda: any(line.get("id") == window_id and line["state"] in FINAL_STATES for line in reports), 60
        )
    assert arrived, window_id


class Pictures(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    def __len__(self) -> int:
        return 800

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.full((3, 16, 16), float(index)).sqrt(), torch.tensor(index % 4)


class Training:
    """Calls the runner before each fetch, as the probe does."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(0)
        layers = (torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(1568, 4))
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = torch.nn.Sequential(*layers).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)
        self.batches: Iterator[list[torch.Tensor]] = iter(DataLoader(Pictures(), batch_size=4))
        self.runner = WindowRunner(report)
        self.folder = FOLDER
        self.step = 0

    def run(self, steps: int, before_step: Callable[[int], None] | None = None) -> None:
        for _ in range(steps):
            if self.runner.active:
                self.runner.at_boundary(self.step)
            images, labels = next(self.batches)
            if before_step is not None:
                before_step(self.step)
            self.optimizer.zero_grad()
            logits = self.model(images.to(self.device))
            torch.nn.functional.cross_entropy(logits, labels.to(self.device)).backward()
            self.optimizer.step()
            self.step += 1

    def arm(
        self,
        window_id: str,
        start: int,
        steps: int = 3,
        *,
        warm: int = 1,
        preset: Preset = "light",
        folder: Path | None = None,
        keep: bool = True,
    ) -> None:
        command = ArmWindow(
            window_id=window_id,
            start_step=start,
            warm_steps=warm,
            steps=steps,
            preset=preset,
            directory=str(folder or self.folder),
            keep=keep,
        )
        background = threading.Thread(target=self.runner.arm, args=(command, self.step))
        background.start()
        background.join()
