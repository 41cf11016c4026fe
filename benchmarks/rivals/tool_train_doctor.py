"""train-doctor: `train-doctor profile`, whose recorder a sitecustomize loads.

Its use is a short window, after which it stops the training. To see what its recorder costs, the window is
made longer than the loop: the recorder stays on to the end.
"""

import json
from pathlib import Path

from benchmarks.rivals.evidence import Evidence
from benchmarks.rivals.tool import HERE, Job, only_path

_NEVER_REACHED = "1000000000"


class TrainDoctor:
    """No operator trace at the end (`--profiler-steps 0`): the window does not end."""

    def command(self, job: Job) -> list[str]:
        script = [job.python, str(HERE / "loop.py"), *job.options]
        window = ["--steps", _NEVER_REACHED, "--profiler-steps", "0"]
        return [job.python, "-m", "train_doctor", "profile", *window, "--", *script]

    def variables(self, arm: str, folder: Path) -> dict[str, str]:
        return {}

    def evidence(self, job: Job) -> Evidence:
        events = only_path(job.folder, ".train-doctor/runs/*/events.*.jsonl")
        if events is None:
            return Evidence(missing="train-doctor left no events")
        steps = waits = 0
        device = ""
        for line in events.read_text().splitlines():
            event = json.loads(line)
            device = event.get("device") or device
            steps += event["type"] == "step"
            waits += event["type"] == "step" and event["data_wait"] > 0
        return Evidence({"step": steps, "wait": waits}, device)
