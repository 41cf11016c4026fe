"""Makes traces whose figures are known because every stretch of time is put there on purpose.

Time runs in whole nanoseconds along one cursor; each method appends one stretch to the device's time line,
with the host events that make it what it is, and adds its length to `truth`.
"""

import gzip
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Event = dict[str, Any]
LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
MAIN, AUTOGRAD, STREAM, SIDE = 100, 101, 7, 20
DAY = 1_790_857_026_000_000_000


def event(cat: str, name: str, start: float, duration: float, tid: int | str = 1, **args: object) -> Event:
    """Return a complete event; times in microseconds."""
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": 7,
        "tid": tid,
        "ts": start,
        "dur": duration,
        "args": args,
    }


def op(name: str, start: float, duration: float, tid: int | str = 1, **args: object) -> Event:
    """Return an operator."""
    return event("cpu_op", name, start, duration, tid, **args)


def mark(name: str, start: float, duration: float, tid: int | str = 1) -> Event:
    """Return a user's mark."""
    return event("user_annotation", name, start, duration, tid)


def step(number: int, start: float, duration: float) -> Event:
    """Return a step mark."""
    return mark(f"ProfilerStep#{number}", start, duration)


@dataclass
class TraceMaker:
    """One rank's trace in the making."""

    api: str = "cuda"
    now_ns: int = 1_000_000
    truth: Counter[str] = field(default_factory=Counter[str])
    events: list[Event] = field(default_factory=list[Event])
    head: dict[str, Any] = field(default_factory=dict[str, Any])
    _correlation: int = 0
    _step_began: int | None = None
    _steps: int = 0

    def add(self, cat: str, name: str, start_ns: int, ns: int, tid: int | str = MAIN, **args: object) -> None:
        """Append an event at a place of its own."""
        self.events.append(event(cat, name, start_ns / 1000, ns / 1000, tid, **args))

    def launch(self, at_ns: int, call_ns: int = 1000, name: str | None = None, **args: object) -> int:
        """Append a launching call; return its correlation."""
        self._correlation += 1
        call = name or f"{self.api}LaunchKernel"
        self.add("cuda_runtime", call, at_ns, call_ns, MAIN, correlation=self._correlation, **args)
        return self._correlation

    def kernel(
        self, ns: int, name: str = "gemm", stream: int = STREAM, at_ns: int | None = None, **args: object
    ) -> None:
        """Append a kernel, at the cursor unless said otherwise; the cursor stays."""
        begin = self.now_ns if at_ns is None else at_ns
        self.add("kernel", name, begin, ns, stream, device=0, stream=stream, **args)

    def step(self) -> None:
        """Begin the next step here."""
        self.end_step()
        self._step_began = self.now_ns

    def end_step(self) -> None:
        """End the step here."""
        if self._step_began is not None:
            self._steps += 1
            self.add(
                "user_annotation",
                f"ProfilerStep#{self._steps}",
                self._step_began,
                self.now_ns - self._step_began,
            )
            self._step_began = None

    # Busy stretches.

    def compute(self, ns: int, name: str = "gemm", ahead_ns: int = 0) -> None:
        """Compute, launched at its start or some time before."""
        self.kernel(ns, name, correlation=self.launch(self.now_ns - ahead_ns, min(1000, ns)))
        self._busy("compute_only", ns)

    def communicate(self, ns: int, name: str | None = None, /, **args: object) -> None:
        """Communicate alone, in an all-reduce unless another kernel is named."""
        correlation = self.launch(self.now_ns)
        self.kernel(
            ns,
            name or f"{'n' if self.api == 'cuda' else 'r'}cclDevKernel_AllReduce_Sum_f32",
            SIDE,
            None,
            correlation=correlation,
            **args,
        )
        self._busy("comm_exposed", ns)

    def overlap(self, ns: int) -> None:
        """Compute and communicate at once."""
        self.kernel(ns, correlation=self.launch(self.now_ns))
        self.kernel(ns, "ncclDevKernel_AllReduce_Sum_f32", SIDE, correlation=self.launch(self.now_ns))
        self._busy("overlap", ns)

    def copy(
        self, ns: int, kind: str = "HtoD (Pinned -> Device)", size: int | str = 1 << 20, call_ns: int = 1000
    ) -> None:
        """Copy alone."""
        correlation = self.launch(self.now_ns, call_ns, f"{self.api}MemcpyAsync")
        self.add(
            "gpu_memcpy",
            f"Memcpy {kind}",
            self.now_ns,
            ns,
            STREAM,
            device=0,
            stream=STREAM,
            correlation=correlation,
            bytes=size,
        )
        self._busy("mem_exposed", ns)

    def _busy(self, part: str, ns: int) -> None:
        self.truth[part] += ns
        self.now_ns += ns

    # Idle stretches: each ends with a kernel of 2 µs.

    def idle(
        self, *, loader: int = 0, sync_call: int = 0, host_other: int = 0, in_call: int = 0, behind: int = 0
    ) -> None:
        """Idle: so long in each on the host, then so long behind the launch (latency or dependency).

        Args:
            loader, sync_call, host_other: on the host before the launching call.
            in_call: in the call itself, 30 µs or more; without it the call takes no time.
            behind: from there to the kernel that ends it.
        """
        begin = self.now_ns
        if loader:
            self.add("user_annotation", LOADER, begin, loader)
        if sync_call:
            self.add("cuda_runtime", f"{self.api}StreamSynchronize", begin + loader, sync_call)
        asked = begin + loader + sync_call + host_other
        self.now_ns = asked + in_call + behind
        for kind, ns in (("loader", loader), ("sync_call", sync_call), ("host_other", host_other + in_call)):
            self.truth[kind] += ns
        self.truth["launch_latency" if behind < 30_000 else "dependency"] += behind
        call_ns = in_call
        if asked + in_call == begin:
            self.truth["queued"] += behind if behind < 30_000 else 0
            asked, call_ns = asked - 500, 400  # launched while the device was still busy
        self.kernel(2000, "after", correlation=self.launch(asked, call_ns))
        self._busy("compute_only", 2000)

    # Files.

    def document(self) -> dict[str, Any]:
        """Return the trace as torch writes it."""
        self.end_step()
        return {"schemaVersion": 1, **self.head, "traceEvents": self.events, "baseTimeNanoseconds": DAY}

    def write(self, path: Path) -> Path:
        """Write the trace; a name that ends with .gz is compressed."""
        text = json.dumps(self.document()).encode()
        path.write_bytes(gzip.compress(text, 1) if path.name.endswith(".gz") else text)
        return path
