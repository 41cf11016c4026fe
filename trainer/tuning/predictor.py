"""What a change can bring, before it is tried: a bound, an expected gain, and what the trials will cost.

Pure arithmetic on measured shares, apart from the rules that use it and the trials that check it. All speeds
are factors: 2.0 means half the time per step.
"""

import math
from dataclasses import dataclass

SMALLEST_GAIN = 1.02
"""Less than this is not worth a trial: it could not be told from nothing."""
_WAIT_THAT_MATTERS = 0.05
SPARE_WORKERS = 1.3
"""Times the bare need: batches do not all take the same time."""
_SPARE_CORES = 2.0
_SPARE_SHARE = 0.5
_FEWEST_STEPS = 60
_WARM_UP_AND_LOOKS = 1.5
STOPPING_S = 3.0
"""From the end of a launch to the next one."""
_FEWEST_S = 5.0
"""Of steps, as `Caps.fewest_seconds`."""
_START_TIMES, _LEAST_START_S = 2.0, 30.0
"""A start may take twice what it took, for a launch whose start is cut off is worth nothing."""
_LEAST_STEPS_S = 30.0
_COMPILING_S = 300.0


def most_processes(cpus: float) -> float:
    """Return the most loader workers that a host carries unasked: some more than there are cores.

    More only queue; a few more are let through, for loaders that wait for storage.
    """
    return cpus + max(_SPARE_CORES, _SPARE_SHARE * cpus)


@dataclass(frozen=True)
class WorkersProposal:
    """A number of loader workers with what it may bring."""

    num_workers: int
    bound: float
    """Largest speed-up that any loader could give: 1 / (1 - wait share)."""
    expected: float
    """Speed-up by the loader's own figures and the cores there are; an upper estimate when batches vary."""


def propose_workers(
    step_ms: float,
    wait_share: float,
    num_workers: int,
    cpus: float,
    ranks_on_host: int,
    cpu_share: float | None,
    run_busy: float | None = None,
    *,
    on_gpu: bool = False,
) -> WorkersProposal | None:
    """Propose `loader.num_workers` for one rank, or None when more workers would not help.

    Args:
        step_ms: mean wall time of a step.
        wait_share: share (0-1) of the step spent waiting for the loader.
        num_workers: workers in force; 0 means that batches are made in the training thread.
        cpus: effective cores of the host (affinity and quota taken into account).
        ranks_on_host: ranks that share these cores.
        cpu_share: CPU time of the training thread over wall time; None when not measured.
        run_busy: cores busy with all processes of the run on this host; None when not measured. With it the
            work that must be shared by the cores is known, else it is estimated from the other figures.
        on_gpu: the model computes there, not on these cores.
    """
    ranks = max(1, ranks_on_host)
    cores = cpus / ranks
    if step_ms <= 0 or cores <= 0 or not _WAIT_THAT_MATTERS < wait_share <= 1:
        return None
    prepare_ms = wait_share * step_ms if num_workers == 0 else num_workers * step_ms
    compute_ms = (1 - wait_share) * step_ms
    workers = _workers_needed(prepare_ms, compute_ms, cores)
    if workers <= num_workers:
        return None
    if on_gpu and num_workers == 0:
        run_busy = _without_spinning(run_busy, cpu_share, ranks)
    work_ms = _cpu_work_ms(step_ms, prepare_ms, compute_ms, num_workers, cpu_share, run_busy, ranks)
    predicted_ms = max(compute_ms, prepare_ms / workers, work_ms / cores)
    bound = step_ms / compute_ms if compute_ms > 0 else math.inf
    expected = step_ms / predicted_ms
    if expected < SMALLEST_GAIN:
        return None
    return WorkersProposal(workers, bound, expected)


def _workers_needed(prepare_ms: float, compute_ms: float, cores: float) -> int:
    most = max(1, math.floor(cores))
    if compute_ms <= 0:
        return most
    return min(most, math.ceil(SPARE_WORKERS * prepare_ms / compute_ms))


def _without_spinning(run_busy: float | None, cpu_share: float | None, ranks: int) -> float | None:
    """Return the cores that batches made in the training thread keep busy to some purpose.

    The threads that help it in torch's own operators spin between two of them: 15 of 16 cores were busy where
    16 workers made six times as many samples (an H200 with JPEGs). What they do of use is not measured, so
    the middle is taken, in logs, between the training thread alone and all of them.
    """
    if run_busy is None or cpu_share is None or cpu_share <= 0 or run_busy <= ranks * cpu_share:
        return run_busy
    return math.sqrt(run_busy * ranks * cpu_share)


def _cpu_work_ms(
    step_ms: float,
    prepare_ms: float,
    compute_ms: float,
    num_workers: int,
    cpu_share: float | None,
    run_busy: float | None,
    ranks: int,
) -> float:
    """CPU time that one step of one rank costs, whoever spends it: no number of workers makes it less.

    Without workers the training thread's own CPU time is all of it. With workers theirs is not measured, and
    a saturated worker is taken as busy throughout.
    """
    if run_busy is not None:
        return run_busy / ranks * step_ms
    if num_workers == 0:
        return step_ms if cpu_share is None else cpu_share * step_ms
    return prepare_ms + (compute_ms if cpu_share is None else cpu_share * step_ms)


@dataclass(frozen=True)
class TrialsEstimate:
    """How long the trials of one change will take, in seconds: two launches at least, four at most."""

    shortest_s: float
    longest_s: float


def estimate_trials(
    startup_s: float,
    step_ms: float,
    expected: float | None,
    num_workers: int = 0,
    *,
    steps_cap: int = 600,
    seconds_cap: float = 600.0,
    launches: int = 4,
    compiles: bool = False,
) -> TrialsEstimate:
    """Estimate the wall time of A B, and of all launches at their limit, from the run's own figures.

    Args:
        startup_s: from a launch to its first step.
        step_ms: mean wall time of a step with the settings in force.
        expected: expected speed-up of the change; None counts as no gain.
        num_workers: loader workers after the change (blocks are multiples of them).
        steps_cap: most steps of a launch.
        seconds_cap: most seconds of a launch after its first step.
        launches: most launches.
        compiles: the change compiles the model, which takes nobody knows how long.
    """
    block = max(10, num_workers)
    usual = min(steps_cap, max(_FEWEST_STEPS, 6 * block) * _WARM_UP_AND_LOOKS)
    before_s = step_ms / 1000
    after_s = before_s / max(expected or 1.0, 1.0)
    fixed = startup_s + STOPPING_S
    most_s = _longest_launch_s(startup_s, before_s, steps_cap, seconds_cap)
    took_s = (max(_FEWEST_S, usual * step_s) for step_s in (before_s, after_s))
    shortest = sum(min(most_s, fixed + min(seconds_cap, each_s)) for each_s in took_s)
    longest_s = launches * most_s + (launches // 2 * _COMPILING_S if compiles else 0.0)
    return TrialsEstimate(shortest, longest_s)


def _longest_launch_s(startup_s: float, step_s: float, steps_cap: int, seconds_cap: float) -> float:
    """Return when a launch ends, whatever it is known to by then: its start, its steps, and its stop."""
    start_s = max(_START_TIMES * startup_s, _LEAST_START_S)
    return start_s + min(seconds_cap, max(_LEAST_STEPS_S, steps_cap * step_s)) + STOPPING_S


def share_of_rest_s(most_s: float, spent_s: float, launches_left: int) -> float:
    """Return how long the next launch may take: an even share of what is left of what was promised.

    What one launch did not use, the later ones may: a change may take longer to start.

    Args:
        most_s: that all launches may take, in seconds.
        spent_s: since the first began.
        launches_left: this one and those that may follow.
    """
    return max(0.0, (most_s - spent_s) / launches_left - STOPPING_S)


def startup_of(elapsed_s: float, steps: int, step_ms: float) -> float:
    """Return about how long a run took to its first step: what its steps do not explain of its age."""
    return max(0.0, elapsed_s - steps * step_ms / 1000)
