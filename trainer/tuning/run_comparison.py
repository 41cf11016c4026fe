"""Two recorded runs against each other: one launch each, so that little can be said for certain. Pure.

The figures are those of procedure P (`steady.py`, `regression.py`), over the steps that both recordings have:
a long run is compared with the same part of a short one. What trials have and recorded runs lack holds a
verdict back (`run_reservations.py`); it is then `provisional`.
"""

import math
from collections.abc import Sequence, Set

import msgspec

from perftui.ipc.ledger_records import Launch, Verdict
from perftui.trainer.tuning.enough import assess
from perftui.trainer.tuning.judge import failed_verdict, judge
from perftui.trainer.tuning.noise import is_learned
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.recorded_run import RecordedRun
from perftui.trainer.tuning.regression import Label, Noise
from perftui.trainer.tuning.run_differences import Difference, differences, same_work
from perftui.trainer.tuning.run_reservations import cpus_of, foreign_cores, remarks, reservations
from perftui.trainer.tuning.steady import FEWEST_BLOCKS, block_length
from perftui.trainer.tuning.verdict import DECIDED
from perftui.trainer.tuning.work_of_steps import Unit

COMPARE_SCHEMA = 1
_CAPS = Caps()


class RunSide(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two runs."""

    run_id: str
    name: str
    command: list[str]
    launch: Launch
    samples_per_step: float | None
    """Over all ranks, mean over the compared steps."""


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """`perftui compare --json`."""

    schema: int = COMPARE_SCHEMA
    a: RunSide
    b: RunSide
    differences: list[Difference]
    per: Unit
    """What the speeds are of: steps, or samples where a step of one run holds more of them."""
    launch_noise: float
    """Standard deviation between launches of one setting on this host, in log units."""
    launch_noise_learned: bool
    """False: the default, for the ledger has too few repeats of this host."""
    verdict: Verdict
    held_back: list[str]
    """Why it is no more than provisional."""
    remarks: list[str]


def why_incomparable(a: RecordedRun, b: RecordedRun) -> str | None:
    """Say why two runs must not be compared: identical GPUs differ by up to a fifth in speed."""
    if a.host_names != b.host_names:
        return f"A ran on {_listed(a.host_names)}, B on {_listed(b.host_names)}: different hosts"
    if a.devices and b.devices and a.devices != b.devices:
        return f"A ran on {_listed(a.devices)}, B on {_listed(b.devices)}: different devices"
    if a.gpu_uuids and b.gpu_uuids and a.gpu_uuids != b.gpu_uuids:
        return f"A ran on {_listed(a.gpu_uuids)}, B on {_listed(b.gpu_uuids)}: different GPUs"
    return None


def _listed(names: Set[str] | Sequence[str]) -> str:
    return ", ".join(sorted(names)) or "nothing known"


def compare_runs(a: RecordedRun, b: RecordedRun, noise: Noise) -> RunComparison:
    """Compare two runs of one host and the same GPUs.

    Args:
        a: the run to compare with.
        b: the run that may be faster.
        noise: what the ledger knows of their host.
    """
    steps = a.steps() & b.steps()
    first, second = _launch("A", a, steps), _launch("B", b, steps)
    work_a, work_b = a.per_step("samples", steps), b.per_step("samples", steps)
    unit: Unit = "step"
    if work_a is not None and work_b is not None and not same_work(work_a, work_b):
        unit = "sample"
    differ = differences(a, b, steps)
    held_back = reservations(a, b, steps, noise)
    return RunComparison(
        a=_side(a, first, work_a),
        b=_side(b, second, work_b),
        differences=differ,
        per=unit,
        launch_noise=noise.tau0,
        launch_noise_learned=is_learned(noise),
        verdict=_verdict(
            [_for_work(first, work_a, unit), _for_work(second, work_b, unit)],
            noise,
            cpus_of(a, b),
            unit,
            _loss(a, b),
            held_back,
        ),
        held_back=held_back,
        remarks=remarks(a, b, differ, unit),
    )


def _side(run: RecordedRun, launch: Launch, samples: float | None) -> RunSide:
    told = run.description
    return RunSide(
        run_id=told.run_id, name=told.name, command=told.command, launch=launch, samples_per_step=samples
    )


def _launch(label: Label, run: RecordedRun, steps: Set[int]) -> Launch:
    """Measure a run over some of its steps."""
    steps_s = run.steps_s(steps)
    block = block_length(run.num_workers)
    found = assess(steps_s, block, 0.0, _CAPS)
    steady_s = steps_s[found.warm_steps :]
    samples = run.per_step("samples", steps)
    step_s = sum(steady_s) / len(steady_s) if steady_s else None
    needed = max(_CAPS.fewest_steps, FEWEST_BLOCKS * block)
    reason = (
        f"of {len(steps_s)} steps that both recordings have, {len(steady_s)} are steady: {needed} are needed"
    )
    estimate = found.estimate
    return Launch(
        run_id=run.description.run_id,
        label=label,
        settings=run.description.settings,
        outcome="finished" if estimate else "failed",
        steps=found.steady_steps,
        warm_steps=found.warm_steps,
        log_step_s=estimate.log_step_s if estimate else None,
        se=estimate.se if estimate else None,
        df=estimate.df if estimate else None,
        step_ms=None if step_s is None else 1000 * step_s,
        samples_per_s=samples / step_s if samples and step_s else None,
        host=",".join(sorted(run.host_names)),
        gpu_uuids=run.gpu_uuids,
        effective=run.in_force,
        note=None if estimate else reason,
        started_unix=run.description.started_unix,
        settled=found.settled,
        foreign_cores=foreign_cores(run, steps),
    )


def _for_work(launch: Launch, samples_per_step: float | None, unit: Unit) -> Launch:
    """Return a launch whose times are of a sample, where steps hold different numbers of them."""
    if unit == "step" or launch.log_step_s is None or launch.step_ms is None or samples_per_step is None:
        return launch
    return msgspec.structs.replace(
        launch,
        log_step_s=launch.log_step_s - math.log(samples_per_step),
        step_ms=launch.step_ms / samples_per_step,
    )


def _verdict(
    launches: list[Launch], noise: Noise, cpus: float, unit: Unit, loss: str | None, held_back: list[str]
) -> Verdict:
    failed = next((launch for launch in launches if launch.log_step_s is None), None)
    if failed is not None:
        return failed_verdict(f"{failed.label} cannot be measured: {failed.note}", launches)
    in_wall_order = sorted(launches, key=lambda launch: launch.started_unix)
    known = all(launch.gpu_uuids == launches[0].gpu_uuids for launch in launches)
    alike = launches[0].gpu_uuids if known else []
    verdict = judge(
        [msgspec.structs.replace(launch, gpu_uuids=alike) for launch in in_wall_order], noise, cpus
    )
    sentence = verdict.sentence
    if verdict.verdict in ("faster", "slower"):
        sentence = f"B is {sentence}"
    if unit == "sample":
        sentence += "; per sample, for steps hold different numbers of them"
    if verdict.verdict in DECIDED and held_back:
        return msgspec.structs.replace(verdict, verdict="provisional", sentence=sentence, loss=loss)
    return msgspec.structs.replace(verdict, sentence=sentence, loss=loss)


def _loss(a: RecordedRun, b: RecordedRun) -> str | None:
    """Return the losses at the newest step that both have; whether they should agree is not known."""
    common = a.losses().keys() & b.losses().keys()
    if not common:
        return None
    step = max(common)
    first, second = a.losses()[step], b.losses()[step]
    return f"loss at step {step}: {first:.4g} in A, {second:.4g} in B; the seeds are the scripts' own"
