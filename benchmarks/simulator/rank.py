"""One made-up rank: what it would have sent by a moment, in order. No clock, no socket."""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.simulator.made_facts import (
    BATCH,
    BATCHES_PER_EPOCH,
    SETTINGS,
    made_loader,
    passing_facts,
    standing_facts,
)
from benchmarks.simulator.scenarios import Pace, StepParts
from perftui.ipc.messages import (
    FLAG_EPOCH_START,
    PROTOCOL_VERSION,
    ArmWindow,
    DeviceSteps,
    Effective,
    Facts,
    FromRank,
    Goodbye,
    Hello,
    LossSample,
    RankEvent,
    Sender,
    StepBatch,
    WindowReport,
)

FRAME_S = 0.1
"""A rank sends its finished steps ten times a second."""
_STARTUP_S = 1.0
_LOSS_EVERY = 10
_SAMPLED_EVERY = 32
_FIRST_PID = 100_000


@dataclass(frozen=True)
class RankPlace:
    """Who and where a rank is."""

    run_id: str
    rank: int
    world_size: int
    ranks_per_host: int
    gpu: bool

    @property
    def host(self) -> str:
        """The name of its made-up host."""
        return f"node{self.rank // self.ranks_per_host:03}"

    @property
    def pid(self) -> int:
        """A process id that no other rank has."""
        return _FIRST_PID + self.rank

    @property
    def gpu_uuid(self) -> str | None:
        """The name of its GPU."""
        return f"GPU-{self.rank:08x}" if self.gpu else None


class MadeRank:
    """Steps at its pace from `began_ns` on (its own clock, which is unix time less `wall_offset_ns`)."""

    def __init__(self, place: RankPlace, pace: Pace, began_ns: int, wall_offset_ns: int) -> None:
        self.place = place
        self._pace = pace
        self._began_ns = began_ns
        self._wall_offset_ns = wall_offset_ns
        self._seq = 0
        self._step = 0
        self._end_ns = began_ns + int(_STARTUP_S * 1e9)
        self._next = pace.parts(0)
        self._second = -1

    def greeting(self) -> Iterator[FromRank]:
        """Yield what comes first, and again when the hub asks for it."""
        place = self.place
        device = f"cuda:{place.rank % place.ranks_per_host}" if place.gpu else "cpu"
        yield Hello(
            **self._sender(),
            protocol=PROTOCOL_VERSION,
            pid=place.pid,
            start_ticks=1,
            local_rank=place.rank % place.ranks_per_host,
            world_size=place.world_size,
            python="3.12.3",
            torch="2.14.1",
            device=device,
            command=["python", "train.py"],
            wall_offset_ns=self._wall_offset_ns,
            gpu_uuid=place.gpu_uuid,
        )
        yield Effective(
            **self._sender(),
            settings=SETTINGS,
            failed={},
            loader=made_loader(place.rank),
            device=device,
            gpu_uuid=place.gpu_uuid,
        )
        facts = standing_facts(place.rank, place.world_size)
        yield Facts(**self._sender(), at_ns=self._began_ns, facts=facts)

    def until(self, now_ns: int) -> Iterator[FromRank]:
        """Yield what is new by a moment of its clock."""
        second = int((now_ns - self._began_ns - self.place.rank * 1_000_003 % 1_000_000_000) // 1_000_000_000)
        if second > self._second:
            self._second = second
            facts = passing_facts(max(0, second), self._began_ns, now_ns)
            yield Facts(**self._sender(), at_ns=now_ns, facts=facts)
        first, parts, ends = self._step, list[StepParts](), list[int]()
        while self._end_ns + self._next.wall_ns <= now_ns:
            self._end_ns += self._next.wall_ns
            parts.append(self._next)
            ends.append(self._end_ns)
            self._step += 1
            self._next = self._pace.parts(self._step)
        if parts:
            yield self._batch(first, parts, ends)
            for step, part, end_ns in zip(range(first, self._step), parts, ends, strict=True):
                yield from self._beside(step, part, end_ns)

    def ends_ns(self, until_ns: int) -> Iterator[int]:
        """Yield when each step ends, from the first on, until a moment of its clock."""
        end_ns = self._began_ns + int(_STARTUP_S * 1e9)
        step = 0
        while (end_ns := end_ns + self._pace.parts(step).wall_ns) <= until_ns:
            yield end_ns
            step += 1

    def _batch(self, first: int, parts: list[StepParts], ends: list[int]) -> StepBatch:
        steps = range(first, first + len(parts))
        none = [-1] * len(parts)
        return StepBatch(
            **self._sender(),
            first_step=first,
            end_ns=ends,
            wall_ns=[part.wall_ns for part in parts],
            wait_ns=[part.wait_ns for part in parts],
            forward_ns=[part.forward_ns for part in parts],
            backward_ns=[part.backward_ns for part in parts],
            optimizer_ns=[part.optimizer_ns for part in parts],
            cpu_ns=[part.cpu_ns for part in parts],
            samples=[BATCH] * len(parts),
            micro_batches=[1] * len(parts),
            epoch=[step // BATCHES_PER_EPOCH for step in steps],
            flags=[FLAG_EPOCH_START if step % BATCHES_PER_EPOCH == 0 else 0 for step in steps],
            probe_ns=self._step * 18_000,
            hook_ns=self._step * 30_000,
            hook_steps=self._step,
            h2d_ns=none,
            comm_ns=[
                part.comm_ns if part.comm_ns and step % _SAMPLED_EVERY == 0 else -1
                for step, part in zip(steps, parts, strict=True)
            ],
            worker=[step % 8 for step in steps],
        )

    def _beside(self, step: int, part: StepParts, end_ns: int) -> Iterator[FromRank]:
        """Yield what a rank tells of single steps."""
        if step % _LOSS_EVERY == 0:
            yield LossSample(**self._sender(), step=step, value=self._loss(step))
        if step % BATCHES_PER_EPOCH == 0:
            text = f"epoch {step // BATCHES_PER_EPOCH}"
            yield RankEvent(**self._sender(), at_ns=end_ns, event="epoch", text=text, step=step)
        if self.place.gpu and step % _SAMPLED_EVERY == 0:
            yield self._on_device(step, part)

    def _on_device(self, step: int, part: StepParts) -> DeviceSteps:
        """Return a sampled step on the GPU's timeline, which runs right behind the host's."""
        total, wait, forward, backward, optimizer, comm, _ = (ns / 1e6 for ns in part)
        h2d = 0.01 * total
        return DeviceSteps(
            **self._sender(),
            step=[step],
            total_ms=[total],
            wait_ms=[wait],
            h2d_ms=[h2d],
            forward_ms=[forward - h2d],
            backward_ms=[backward - comm],
            comm_ms=[comm],
            optimizer_ms=[optimizer],
            other_ms=[total - wait - forward - backward - optimizer],
        )

    def _loss(self, step: int) -> float:
        """Return a loss that falls, and jumps from batch to batch and from rank to rank."""
        jump = (step * 7919 + self.place.rank * 104_729) % 1000 / 1000
        return 2.0 + 5.0 / (1 + step / 50) + 0.4 * jump

    def declined(self, order: ArmWindow) -> WindowReport:
        """Return its answer to a profiling window, of which it has nothing to record."""
        reason = "a simulated rank runs nothing that could be recorded"
        return WindowReport(**self._sender(), window_id=order.window_id, state="unsupported", reason=reason)

    def farewell(self) -> Goodbye:
        """Return its last word."""
        return Goodbye(**self._sender(), reason="exit", dropped=0, errors=0)

    def _sender(self) -> Sender:
        self._seq += 1
        place = self.place
        return {"run_id": place.run_id, "host": place.host, "rank": place.rank, "seq": self._seq - 1}
