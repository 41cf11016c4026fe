"""Every threshold of the diagnosis, with its unit and where it comes from. One file, so that none hides."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """The thresholds in force. Shares are 0-1 of a step's wall time unless a docstring says otherwise."""

    wait_warning: float = 0.10
    """Share. Exposed loader wait from which it is worth a change; as TraceML 0.5.0's input rule."""
    wait_critical: float = 0.20
    """Share. Exposed loader wait from which it is the first thing to change; as TraceML 0.5.0."""
    wait_floor_ms: float = 2.0
    """Milliseconds a step. Below, workers are not worth it: handing one batch over from a worker process
    took 1.2-1.4 ms on a 2-core machine (torch 2.14, empty dataset)."""

    steps_warning: int = 5
    """Steps. Least window for any judgement; own choice: means of fewer are noise."""
    steps_critical: int = 20
    """Steps. Least window for `critical`; as TraceML 0.5.0."""
    steps_per_worker: int = 2
    """Steps for each loader worker: with W workers the stall comes every W-th step, so a shorter window may
    miss it or see nothing else."""
    coverage: float = 0.80
    """Share of the window's steps. Least coverage for a cause to be named; as TraceML 0.5.0."""

    straggler_gap: float = 0.10
    """Share. One rank's wait beyond the other ranks'; as TraceML 0.5.0's straggler score (10 / 20 %)."""
    straggler_ratio: float = 2.0
    """Factor. And it waits at least this many times as long: ranks that all starve differ by chance."""
    straggler_alike: float = 0.20
    """Share of the longest wait. Starved ranks within it count as equally starved; own choice."""
    in_step_spread: float = 0.10
    """Share of the slowest rank's mean step. Ranks within it keep step with each other; own choice, above
    the spread of means that two gloo ranks show over 20 steps."""
    straggler_absorbed: float = 0.5
    """Share of the gap. The other ranks' longer forward and backward explain at least this much of it, or
    it is said that where they wait was not seen; own choice."""

    other_share: float = 0.25
    """Share. Time that is nobody's (logging, validation, …): with more, a run is not called healthy; own
    choice, twice the 13 % at which TraceML's rule misjudged its own example on a CPU."""
    busy_thread: float = 0.5
    """Share of wall. CPU time of the training thread under which a run on the CPU is not called busy."""

    contended_info: float = 0.15
    """Share of the usable cores that others' work takes; own choice: less is any desktop's background."""
    contended_warning: float = 0.30
    """Share of the usable cores. From here on step times say little about the run; own choice."""
    pressure: float = 0.10
    """Share of the last 10 s in which some task waited for a CPU (PSI `some avg10`). Where it is measured and
    lower, nobody waits and others' work does no harm yet."""

    short_epoch_steps: int = 50
    """Batches. In shorter epochs, starting workers anew at each epoch is felt; own choice."""
    shm_low_mib: float = 256.0
    """MiB of free /dev/shm below which workers are cautioned: they pass batches through it, and a container's
    default is 64 MiB."""
    idle_cores: float = 0.5
    """Share of the usable cores. With fewer busy, starved workers wait for something else than the CPU."""

    appear_judgements: int = 2
    """Judgements in a row before a finding is shown; own choice: two seconds at one a second."""
    vanish_judgements: int = 4
    """Judgements in a row without it before it goes."""
    forget_after_s: float = 120.0
    """Seconds without any judgement after which what was shown is no longer true."""


POLICY = Policy()
