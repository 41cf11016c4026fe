"""What keeps a comparison of two recorded runs from being a verdict, and what else to know of it. Pure."""

from collections.abc import Iterator, Set

from perftui.trainer.tuning.explained import is_loaded
from perftui.trainer.tuning.noise import is_learned
from perftui.trainer.tuning.recorded_run import RecordedRun
from perftui.trainer.tuning.regression import Noise
from perftui.trainer.tuning.run_differences import Difference, same_work

_CLOSE_S = 3600.0
"""A choice, not a measurement: the drift that procedure P allows for is that of launches minutes apart."""
_CLOCKS_WITHIN = 0.03
"""SM clocks further apart tell of the state of the GPU rather than of the change."""


def reservations(a: RecordedRun, b: RecordedRun, steps: Set[int], noise: Noise) -> list[str]:
    """Return why a difference between two runs, however clear, is no more than provisional."""
    return [
        *_of_noise(noise),
        *_of_time(a, b, steps),
        *_of_neighbours(a, b, steps),
        *_of_gpus(a, b, steps),
        *_of_work(a, b, steps),
    ]


def _of_noise(noise: Noise) -> Iterator[str]:
    if not is_learned(noise):
        yield (
            "how much launches of one setting differ on this host is not known yet; "
            f"{noise.tau0:.1%} is assumed, and each relaunch with repeats teaches the ledger more"
        )


def _of_time(a: RecordedRun, b: RecordedRun, steps: Set[int]) -> Iterator[str]:
    first, second = a.span(steps), b.span(steps)
    if first is None or second is None:
        return
    if first[0] < second[1] and second[0] < first[1]:
        yield "they ran at the same time and got in each other's way"
        return
    gap_s = max(second[0] - first[1], first[0] - second[1])
    if gap_s > _CLOSE_S:
        yield f"{gap_s / 3600:.0f} h lie between them: the host may have changed"


def _of_neighbours(a: RecordedRun, b: RecordedRun, steps: Set[int]) -> Iterator[str]:
    cpus = cpus_of(a, b)
    for label, run in (("A", a), ("B", b)):
        cores = foreign_cores(run, steps)
        if cores is None:
            yield f"whether others computed on the host during {label} was not measured"
        elif is_loaded(cores, cpus):
            yield f"other work kept {cores:.1f} cores of the host busy during {label}"


def _of_gpus(a: RecordedRun, b: RecordedRun, steps: Set[int]) -> Iterator[str]:
    for label, run in (("A", a), ("B", b)):
        if any(rank.device.startswith("cuda") and not rank.gpu_uuid for rank in run.ranks.values()):
            yield f"which GPU {label} ran on is not known"
        if _had_foreign_processes(run, steps):
            yield f"others used a GPU during {label}"
    first, second = _mean_clock(a, steps), _mean_clock(b, steps)
    if first and second and abs(first - second) > _CLOCKS_WITHIN * max(first, second):
        yield f"the GPUs ran at {first:.0f} MHz during A and at {second:.0f} MHz during B"


def _of_work(a: RecordedRun, b: RecordedRun, steps: Set[int]) -> Iterator[str]:
    unknown = [label for label, run in (("A", a), ("B", b)) if run.per_step("samples", steps) is None]
    if unknown:
        which = " and ".join(unknown)
        yield f"how many samples a step of {which} holds is not known: steps may not be equal work"
        return
    first, second = _tokens_a_sample(a, steps), _tokens_a_sample(b, steps)
    if first is not None and second is not None and not same_work(first, second):
        yield f"a sample holds {first:.4g} tokens in A and {second:.4g} in B: samples are not equal work"


def _tokens_a_sample(run: RecordedRun, steps: Set[int]) -> float | None:
    tokens, samples = run.per_step("tokens", steps), run.per_step("samples", steps)
    return tokens / samples if tokens and samples else None


def foreign_cores(run: RecordedRun, steps: Set[int]) -> float | None:
    """Return the cores busy with other work, mean over some steps of a run; None: not measured."""
    span = run.span(steps)
    found = [
        max(0.0, view.cpu_busy - view.run_busy)
        for unix, view in run.hosts
        if span and span[0] <= unix <= span[1] and view.cpu_busy is not None and view.run_busy is not None
    ]
    return sum(found) / len(found) if found else None


def cpus_of(a: RecordedRun, b: RecordedRun) -> float:
    """Return the usable cores, the fewer of both runs; 1 where neither told."""
    return min((view.cpus for run in (a, b) for _, view in run.hosts[-1:] if view.cpus), default=1.0)


def _mean_clock(run: RecordedRun, steps: Set[int]) -> float | None:
    span = run.span(steps)
    clocks = [
        view.sm_clock_mhz
        for unix, view in run.gpus
        if span and span[0] <= unix <= span[1] and view.sm_clock_mhz is not None
    ]
    return sum(clocks) / len(clocks) if clocks else None


def _had_foreign_processes(run: RecordedRun, steps: Set[int]) -> bool:
    span = run.span(steps)
    return any(view.foreign_processes for unix, view in run.gpus if span and span[0] <= unix <= span[1])


def remarks(a: RecordedRun, b: RecordedRun, differ: list[Difference], unit: str) -> list[str]:
    """Return what else to know of a comparison."""
    found: list[str] = []
    if not differ:
        found.append("nothing that perftui knows of differs: what shows is the noise between launches")
    elif len(differ) > 1:
        found.append(f"{len(differ)} things differ: the figure is of all of them together")
    if unit == "sample" or any(each.semantics == "changes-training" for each in differ):
        found.append("the training itself differs: speed alone does not say which run is the better one")
    for label, run in (("A", a), ("B", b)):
        if run.restarts:
            found.append(
                f"ranks of {label} were started again {run.restarts} times: the newest ones are taken"
            )
    return found
