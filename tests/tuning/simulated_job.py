"""A made-up training on a made-up host, of which it is known what every setting does.

Times add up as they do on a GPU: a loader beside the rest, launches that the GPU waits for, products,
everything else, copies, the optimizer. What is seen of it is told by the codes that real findings have.
"""

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from perftui.ipc.errors import Refused
from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.search_records import (
    Begun,
    Judged,
    Measured,
    Picture,
    SearchEntry,
    SearchPlan,
    Sitting,
)
from perftui.ipc.settings import Semantics, Settings, check_together
from perftui.trainer.tuning.judge import judge
from perftui.trainer.tuning.predictor import propose_workers
from perftui.trainer.tuning.regression import Noise
from perftui.trainer.tuning.search.next_move import (
    BeginMove,
    JudgeMove,
    Known,
    LaunchMove,
    StopMove,
    next_move,
)
from perftui.trainer.tuning.search.state import SearchState, advance, fold
from tests.made_ledger import measured_launch

NOISE = Noise(0.005, 8.0)
PLAN = SearchPlan(
    search_id="tune-made-1", unix=0.0, host="made", name="made", command=["python", "train.py"], cwd="/"
)
CHOICES: dict[str, tuple[object, ...]] = {
    "loader.num_workers": (0, 1, 2, 4, 8, 16),
    "loader.pin_memory": (False, True),
    "precision.tf32": (False, True),
    "precision.autocast": ("off", "bf16"),
    "layout.channels_last": (False, True),
    "compile.mode": ("off", "default", "reduce-overhead"),
    "cudnn.benchmark": (False, True),
    "optimizer.fused": (False, True),
}


@dataclass(frozen=True)
class Job:
    """Milliseconds a step, as it is found."""

    prepare_ms: float
    launch_ms: float
    product_ms: float
    other_ms: float
    copy_ms: float
    optimizer_ms: float
    cores: int = 8
    launch_sd: float = 0.004
    se: float = 0.003
    foreign_cores: float = 0.0

    def parts(self, s: Settings) -> dict[str, float]:
        product, other, launch = self.product_ms, self.other_ms, self.launch_ms
        fast = s.get("precision.autocast") == "bf16" or bool(s.get("precision.tf32"))
        if s.get("precision.autocast") == "bf16":
            product, other = product / 2.5, other / 1.3
        elif s.get("precision.tf32"):
            product /= 2.0
        if s.get("layout.channels_last"):
            product *= 0.85 if fast else 1.05
        if s.get("cudnn.benchmark"):
            product *= 0.97
        mode = s.get("compile.mode")
        if mode == "reduce-overhead":
            launch, other = 0.1 * launch, 0.8 * other
        elif mode == "default":
            launch, other = 0.6 * launch, 0.75 * other
        return {
            "product": product,
            "other": other,
            "launch": launch,
            "copy": self.copy_ms * (0.4 if s.get("loader.pin_memory") else 1.0),
            "optimizer": self.optimizer_ms * (0.5 if s.get("optimizer.fused") else 1.0),
        }

    def step_ms(self, settings: Settings) -> tuple[float, float]:
        """Return the step and the share of it spent waiting for the loader."""
        compute = sum(self.parts(settings).values())
        workers = settings.get("loader.num_workers", 0)
        assert isinstance(workers, int)
        if workers == 0:
            step = compute + self.prepare_ms
        else:
            step = max(compute, self.prepare_ms / min(workers, self.cores))
        return step, 1 - compute / step

    def best_ms(self, allow: Semantics) -> float:
        """Return the shortest step that any combination gives."""
        names = [name for name in CHOICES if allow != "neutral" or name.startswith("loader.")]
        found = math.inf
        for values in itertools.product(*(CHOICES[name] for name in names)):
            settings: Settings = dict(zip(names, values, strict=True))  # type: ignore[arg-type]
            try:
                check_together(settings)
            except Refused:
                continue
            found = min(found, self.step_ms(settings)[0])
        return found

    def findings(self, settings: Settings) -> list[Finding]:
        step, wait = self.step_ms(settings)
        parts = self.parts(settings)
        share = {name: value / step for name, value in parts.items()}
        if wait >= 0.1:
            return [self._starved(settings, step, wait)]
        found: list[Finding] = []
        if share["launch"] > 0.2 and settings.get("compile.mode") is None:
            found.append(_finding("launch.bound", share["launch"], {"compile.mode": "reduce-overhead"}))
        if share["copy"] > 0.05 and not settings.get("loader.pin_memory"):
            found.append(_finding("transfer.pageable", share["copy"], {"loader.pin_memory": True}))
        exact = not settings.get("precision.tf32") and settings.get("precision.autocast") is None
        if share["product"] > 0.3 and exact:
            found.append(_finding("compute.fp32", 0.0, {"precision.tf32": True}))
        if share["optimizer"] > 0.35:
            found.append(_finding("compute.optimizer", share["optimizer"], {"optimizer.fused": True}))
        found.sort(key=lambda each: -each.share)
        return [*found, _finding("compute.bound", 1 - wait, {})]

    def _starved(self, settings: Settings, step: float, wait: float) -> Finding:
        workers = settings.get("loader.num_workers", 0)
        assert isinstance(workers, int)
        proposed = propose_workers(step, wait, workers, self.cores, 1, 0.9, None)
        if proposed is None:
            return _finding("input.item", wait, {})
        change: Settings = {"loader.num_workers": proposed.num_workers}
        return _finding("input.workers", wait, change, proposed.expected)

    def measured(self, move: LaunchMove, rng: random.Random, number: int) -> Measured:
        """Return what a launch of it gives."""
        step, wait = self.step_ms(move.settings)
        log_step_s = math.log(step / 1000) + rng.gauss(0, math.hypot(self.launch_sd, self.se))
        launch = measured_launch(
            move.label,
            math.exp(log_step_s),
            run_id=f"made-{number}",
            settings=move.settings,
            steps=120,
            log_step_s=log_step_s,
            se=self.se,
            df=20.0,
            step_ms=1000 * math.exp(log_step_s),
            host="made",
            started_unix=60.0 * number,
            foreign_cores=self.foreign_cores,
        )
        picture = Picture(findings=self.findings(move.settings), device="cuda:0", wait_share=wait)
        return Measured(launch=launch, unix=60.0 * number + 50, wall_s=60.0, picture=picture)


def _finding(code: str, share: float, change: Settings, expected: float | None = None) -> Finding:
    bound = 1 / (1 - min(share, 0.95)) if share else None
    return Finding(
        code=code,
        severity="info" if code == "compute.bound" else "warning",
        share=share,
        sentence=f"{code} costs {share:.0%}.",
        remedy=Remedy(set=change, bound=bound, expected=expected) if change else None,
    )


def sitting(
    allow: Semantics = "numeric", most_trials: int = 10, minutes: float | None = None, unix: float = 0.0
) -> Sitting:
    return Sitting(unix=unix, boot_id="one", allow=allow, most_trials=most_trials, most_minutes=minutes)


@dataclass
class Run:
    """A search over a made-up job: every move that it made, and every entry that the ledger would have."""

    state: SearchState
    moves: list[object] = field(default_factory=list[object])
    entries: list[SearchEntry] = field(default_factory=list[SearchEntry])
    stopped: StopMove | None = None

    def add(self, entry: SearchEntry) -> None:
        self.entries.append(entry)
        self.state = advance(self.state, entry)


def search(
    job: Job, rng: random.Random, first: Sitting, before: Sequence[SearchEntry] = (), most_moves: int = 400
) -> Run:
    """Carry a search out without processes; `before`: the entries that earlier sittings have left."""
    run = Run(fold(PLAN, before), entries=list(before))
    run.add(first)
    elapsed_s, number = 0.0, len(before)
    for _ in range(most_moves):
        move = next_move(run.state, Known(NOISE, float(job.cores), elapsed_s))
        run.moves.append(move)
        if isinstance(move, StopMove):
            run.stopped = move
            return run
        number += 1
        if isinstance(move, LaunchMove):
            elapsed_s += 60.0
            run.add(job.measured(move, rng, number))
        elif isinstance(move, BeginMove):
            run.add(Begun(comparison_id=f"c{number}", purpose=move.purpose, proposal=move.proposal))
        else:
            assert isinstance(move, JudgeMove)
            run.add(judged(run.state, job.cores))
    return run


def judged(state: SearchState, cores: int) -> Judged:
    assert state.open is not None
    verdict = judge(state.open.launches, NOISE, cores)
    return Judged(verdict=verdict, kept=verdict.verdict == "faster")


def random_jobs(rng: random.Random, count: int) -> Iterable[Job]:
    """Yield jobs with one part or another in the lead."""
    for number in range(count):
        parts = {name: rng.uniform(1, 10) for name in ("prepare", "launch", "product", "other")}
        parts[list(parts)[number % 4]] *= rng.uniform(5, 20)
        yield Job(
            prepare_ms=parts["prepare"],
            launch_ms=parts["launch"],
            product_ms=parts["product"],
            other_ms=parts["other"],
            copy_ms=rng.uniform(0.1, 3),
            optimizer_ms=rng.uniform(0.1, 3),
            cores=rng.choice((4, 8, 16)),
        )
