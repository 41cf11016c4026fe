"""What is fuzzed within a process: each takes bytes, and says whether it took or refused them.

Whatever else happens (another exception, a hang, memory) is a fault of the program.
"""

import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from perftui.ipc import codec
from perftui.ipc.dashboard_messages import StepsQuery
from perftui.ipc.errors import ProtocolError, RecordingError
from perftui.ipc.harmless import harmless
from perftui.ipc.recording import Entry, read_recording
from perftui.ipc.run_files import ExitRecord, RunDescription, StopRequest, read_record
from perftui.ipc.summary import Summary
from perftui.ipc.trace_report import TraceReport
from perftui.ipc.view import RelaunchView
from perftui.trainer.hub.console import plain
from perftui.trainer.hub.fold import RunFold
from perftui.trainer.hub.increments import Increments
from perftui.trainer.hub.judge import Judge
from perftui.trainer.hub.questions import answered
from perftui.trainer.hub.summaries import summarise
from perftui.trainer.hub.views import RunFacts, rank_view
from perftui.trainer.launch.keeper_files import read_stop
from perftui.trainer.profiling.rank_report import rank_report
from perftui.trainer.profiling.report_text import report_text
from perftui.trainer.profiling.subject import prepare
from perftui.trainer.profiling.trace_reader import read_trace
from perftui.trainer.telemetry.gpu_lines import read_from_sampler, read_wanted

from .seeds import example, recorded

Outcome: TypeAlias = Literal["taken", "refused"]
Target: TypeAlias = Callable[[bytes], Outcome]
_RECORDS = (RunDescription, ExitRecord, StopRequest, Summary, RelaunchView, TraceReport)
_JUDGED_EVERY = 50
_FOLDED_ANEW_EVERY = 1000


def _of_codec(decode: Callable[[bytes], object]) -> Target:
    def target(data: bytes) -> Outcome:
        try:
            decode(data)
        except ProtocolError:
            return "refused"
        return "taken"

    return target


class Folding:
    """The hub's arithmetic: frames are folded, and now and then judged, drawn, summed up and asked about."""

    def __init__(self) -> None:
        self._count = 0
        self._began = time.time()
        self._description = msgspec.structs.replace(
            example(RunDescription), started_unix=self._began, host="h", trial=False
        )
        self._renew()

    def _renew(self) -> None:
        self.fold, self._judge, self._increments = RunFold(), Judge(), Increments()

    def __call__(self, data: bytes) -> Outcome:
        try:
            message = codec.decode_from_rank(data)
        except ProtocolError:
            return "refused"
        self._count += 1
        self.fold.apply(Entry(unix=self._began + self._count / 100, message=message))
        if self._count % _JUDGED_EVERY == 0:
            self.look()
        if self._count % _FOLDED_ANEW_EVERY == 0:
            self._renew()
        return "taken"

    def look(self) -> None:
        """Do what the hub does once a second and at its end, and what a pull and a question make it do."""
        now = self._began + self._count / 100
        facts = RunFacts(description=self._description, ended=None, stopping=False, lost=False)
        self._judge.look(self.fold, now, None, began_s=self._began)
        self._increments.advance(self.fold)
        views = [rank_view(track, now, [], 1) for track in self.fold.ordered]
        summary = summarise(self.fold, facts, now, [], None, 0)
        parts = self._increments.history(self.fold, None), self._increments.marks(self.fold, None)
        msgspec.msgpack.encode((views, summary, parts, self._judge.findings, self._judge.unjudged))
        msgspec.json.encode(summary)

    def ask(self, data: bytes) -> Outcome:
        """Answer a question about what was folded."""
        try:
            message = codec.decode_from_dashboard(data)
        except ProtocolError:
            return "refused"
        if not self.fold.ranks:
            for frame in recorded():
                self(frame)
        if isinstance(message, StepsQuery):
            answered(message, self.fold, b"peer")
        return "taken"


class _InFile:
    """Targets that read a file: one file, written over and over."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def recording(self, data: bytes) -> Outcome:
        path = self.folder / "000001.rec"
        path.write_bytes(data)
        try:
            for _ in read_recording(path):
                pass
        except RecordingError:
            return "refused"
        return "taken"

    def replay(self, data: bytes) -> Outcome:
        """Fold and judge a recording, as a replay does."""
        path, folding = self.folder / "000001.rec", Folding()
        path.write_bytes(data)
        try:
            for entry in read_recording(path):
                folding.fold.apply(entry)
        except RecordingError:
            return "refused"
        finally:
            folding.look()
        return "taken"

    def trace(self, data: bytes) -> Outcome:
        path = self.folder / "rank0.json"
        path.write_bytes(data)
        try:
            report = rank_report(prepare(read_trace(path)), 0, path.name)
        except RecordingError:
            return "refused"
        msgspec.json.encode(report)
        report_text(TraceReport(ranks=[report], sentence=""))
        return "taken"

    def records(self, data: bytes) -> Outcome:
        path = self.folder / "run.json"
        path.write_bytes(data)
        found = [read_record(path, kind) for kind in _RECORDS]
        (self.folder / "stop.json").write_bytes(data)
        read_stop(self.folder)
        return "taken" if any(each is not None for each in found) else "refused"


@contextmanager
def scratch_folder() -> Generator[Path, None, None]:
    """Make a folder for the targets that read files: in memory where there is such a place."""
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=place) as folder:
        yield Path(folder)


def _sampler_lines(data: bytes) -> Outcome:
    found = [read_from_sampler(data), read_wanted(data)]
    return "taken" if any(each is not None for each in found) else "refused"


def _output(data: bytes) -> Outcome:
    for line in data.decode("utf-8", "replace").split("\n"):
        left = plain(line)
        assert harmless(left) == left, left
    return "taken"


def targets(folder: Path) -> dict[str, Target]:
    """Return the targets by name; those that read files write them into a folder."""
    folding, files = Folding(), _InFile(folder)
    return {
        "from_rank": _of_codec(codec.decode_from_rank),
        "to_rank": _of_codec(codec.decode_to_rank),
        "from_dashboard": _of_codec(codec.decode_from_dashboard),
        "to_dashboard": _of_codec(codec.decode_to_dashboard),
        "fold": folding,
        "questions": folding.ask,
        "sampler": _sampler_lines,
        "recording": files.recording,
        "replay": files.replay,
        "records": files.records,
        "trace": files.trace,
        "output": _output,
    }
