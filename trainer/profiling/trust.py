"""Whether a trace can be believed, and what must not be concluded where it cannot."""

import numpy as np

from perftui.ipc.trace_report import CompileFigures, TrustCheck
from perftui.trainer.profiling.call_names import launches_graph, launches_kernel
from perftui.trainer.profiling.grouping import among
from perftui.trainer.profiling.idle_gaps import Gaps
from perftui.trainer.profiling.subject import Subject
from perftui.trainer.profiling.thresholds import (
    COMPILING_SHARE,
    COMPLETE_STEPS,
    EARLY_NS,
    EARLY_SHARE,
    LOST_SHARE,
    SKEW_SHARE,
    UNLINKED_SHARE,
)
from perftui.trainer.profiling.trace_columns import Flags

_GPU = ["gpu", "idle", "compute.bound", "launch.bound"]
_WHY_IDLE = ["idle", "launch.bound", "sync.each_step", "input.workers"]
_QUEUE = ["launches", "queue"]
_IDLE = [*_WHY_IDLE, *_QUEUE]
_STEADY = ["compute.bound", "launch.bound", "compute.operator", "comm.exposed"]


def trust_checks(subject: Subject, gaps: Gaps, compiling: CompileFigures | None) -> list[TrustCheck]:
    """Return all checks; those that cannot be asked of this trace have `passed` None."""
    return [
        _device_events(subject),
        _causality(subject),
        _unlinked(subject),
        _idle_unlinked(subject, gaps),
        _lost_launches(subject),
        _complete_steps(subject),
        _compiling(subject, compiling),
        _truncated(subject),
        _graphs_on_rocm(subject),
        TrustCheck(name="distortion", passed=None, value=None, text="needs the run's step times"),
        _start_skew(subject),
    ]


def _device_events(subject: Subject) -> TrustCheck:
    count = len(subject.trace.device)
    asked = count > 0 or _kernel_launches(subject).any()
    if not asked:
        return _unasked("device_events", "no device in this trace")
    text = f"{count} device events" if count else "the host launched kernels, but the device recorded nothing"
    return TrustCheck(
        name="device_events", passed=count > 0, value=float(count), text=text, suppresses=[*_GPU, *_IDLE]
    )


def _causality(subject: Subject) -> TrustCheck:
    linked = np.flatnonzero(subject.links.call >= 0)
    if not len(linked):
        return _unasked("causality", "no device work can be followed to its launch")
    launched = subject.trace.calls.start[subject.links.call[linked]]
    early = int((subject.trace.device.start[linked] < launched - EARLY_NS).sum())
    share = early / len(linked)
    return TrustCheck(
        name="causality",
        passed=share <= EARLY_SHARE,
        value=share,
        text=f"{early} of {len(linked)} device events start before their launch",
        suppresses=_IDLE,
    )


def _unlinked(subject: Subject) -> TrustCheck:
    count = int(subject.in_window.sum())
    if not count:
        return _unasked("unlinked", "no device events in the window")
    without = int((subject.in_window & (subject.links.call < 0)).sum())
    return TrustCheck(
        name="unlinked",
        passed=without / count <= UNLINKED_SHARE,
        value=without / count,
        text=f"{without / count:.0%} of device events have no launch in the trace",
        suppresses=_QUEUE,
    )


def _idle_unlinked(subject: Subject, gaps: Gaps) -> TrustCheck:
    """A window that begins in the middle of a step has work of before it, but no idle time that it ends."""
    idle = gaps.end - gaps.start
    ended = gaps.next >= 0
    if not idle[ended].sum():
        return _unasked("idle_unlinked", "no idle time that device work ended")
    without = ended & (np.append(subject.links.call, -1)[gaps.next] < 0)
    share = float(idle[without].sum() / idle.sum())
    return TrustCheck(
        name="idle_unlinked",
        passed=share <= UNLINKED_SHARE,
        value=share,
        text=f"{share:.0%} of the idle time ends with device work that has no launch in the trace",
        suppresses=_WHY_IDLE,
    )


def _kernel_launches(subject: Subject) -> Flags:
    return subject.named(subject.trace.calls.name, launches_kernel) & subject.calls_in_window


def _lost_launches(subject: Subject) -> TrustCheck:
    launches = np.flatnonzero(_kernel_launches(subject))
    if not len(launches):
        return _unasked("lost_launches", "no kernel launches in the window")
    lost = int((~among(launches, subject.links.call)).sum())
    return TrustCheck(
        name="lost_launches",
        passed=lost / len(launches) <= LOST_SHARE,
        value=lost / len(launches),
        text=f"{lost} of {len(launches)} kernel launches have no kernel in the trace",
        suppresses=[*_GPU, *_IDLE],
    )


def _complete_steps(subject: Subject) -> TrustCheck:
    steps = len(subject.window.steps)
    if not steps:
        return _unasked("complete_steps", "no step marks (ProfilerStep#N): figures cover the whole trace")
    return TrustCheck(
        name="complete_steps",
        passed=steps >= COMPLETE_STEPS,
        value=float(steps),
        text=f"{steps} complete step{'s' if steps > 1 else ''}",
        suppresses=["per_step", "steps"],
    )


def _compiling(subject: Subject, compiling: CompileFigures | None) -> TrustCheck:
    if compiling is None or subject.window.host_length <= 0:
        return _unasked("compiling", "no host events")
    share = compiling.compiling_us * 1000 / subject.window.host_length
    return TrustCheck(
        name="compiling",
        passed=share <= COMPILING_SHARE,
        value=share,
        text=f"torch.compile was at work for {share:.0%} of the window",
        suppresses=[*_STEADY, *_GPU, *_IDLE],
    )


def _truncated(subject: Subject) -> TrustCheck:
    launches = np.flatnonzero(_kernel_launches(subject))
    if not len(launches) or not len(subject.trace.device):
        return _unasked("truncated", "no kernel launches in the window")
    calls = subject.trace.calls
    answered = launches[among(launches, subject.links.call)]
    last = int(calls.start[answered].max()) if len(answered) else subject.window.host_start
    after = int((calls.start[launches] > last).sum())
    return TrustCheck(
        name="truncated",
        passed=after / len(launches) <= LOST_SHARE,
        value=after / len(launches),
        text=f"after the last kernel's launch come {after} of {len(launches)} launches",
        suppresses=[*_GPU, *_IDLE],
    )


def _graphs_on_rocm(subject: Subject) -> TrustCheck:
    head = subject.trace.head
    names = subject.trace.calls.name
    rocm = (head.hip_runtime_version or head.roctracer_version) is not None or bool(
        subject.named(names, lambda name: name.startswith("hip")).any()
    )
    if not rocm:
        return _unasked("graphs_on_rocm", "not a ROCm trace")
    graphs = int((subject.named(names, launches_graph) & subject.calls_in_window).sum())
    return TrustCheck(
        name="graphs_on_rocm",
        passed=graphs == 0,
        value=float(graphs),
        text=f"{graphs} graph launches, whose kernels ROCm records only in part",
        suppresses=[*_GPU, *_IDLE],
    )


def _start_skew(subject: Subject) -> TrustCheck:
    device = subject.trace.device
    mine = subject.in_window & subject.communicates
    if not mine.any() or subject.window.length <= 0:
        return _unasked("start_skew", "no communication in the window")
    longest = int((np.minimum(device.end, subject.window.end) - device.start)[mine].max())
    share = longest / subject.window.length
    return TrustCheck(
        name="start_skew",
        passed=share <= SKEW_SHARE,
        value=share,
        text=f"the longest communication kernel takes {share:.0%} of the window",
        suppresses=["collectives", "comm.exposed", "waits"],
    )


def _unasked(name: str, text: str) -> TrustCheck:
    return TrustCheck(name=name, passed=None, value=None, text=text)
