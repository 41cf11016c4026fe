"""Small traces made by hand, whose figures can be worked out on paper, and where real ones lie."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from perftui.ipc.trace_report import RankReport
from perftui.trainer.profiling.rank_report import rank_report
from perftui.trainer.profiling.subject import Subject, prepare
from perftui.trainer.profiling.trace_reader import read_trace
from tests.profiling.trace_maker import Event, TraceMaker

TraceWriter = Callable[..., Path]
Reporter = Callable[[list[Event] | TraceMaker], RankReport]
Preparer = Callable[[list[Event] | TraceMaker], Subject]

PUBLIC_TRACES = (
    "hta_ddp2_a100_nccl",
    "hta_dlrm128_a_rank0_sampled",
    "hta_dlrm128_a_rank1_sampled",
    "hta_dlrm8_a100_rank3_control",
    "tracelens_h100_bert_small",
    "tracelens_mi300_resnet_ddp8",
)


@pytest.fixture
def write_trace(tmp_path: Path) -> TraceWriter:
    """Write events as a trace file; a name that ends with .gz is compressed."""

    def write(events: list[Event], name: str = "trace.json") -> Path:
        path = tmp_path / name
        text = json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return path

    return write


@pytest.fixture
def prepared(tmp_path: Path, write_trace: TraceWriter) -> Preparer:
    """Write events, or a made trace, and read them back."""

    def read(events: list[Event] | TraceMaker) -> Subject:
        if isinstance(events, TraceMaker):
            return prepare(read_trace(events.write(tmp_path / "made.json")))
        return prepare(read_trace(write_trace(events)))

    return read


@pytest.fixture
def reported(prepared: Preparer) -> Reporter:
    """Write events, or a made trace, and return the rank's report."""
    return lambda events: rank_report(prepared(events), 0, "made.json")


@pytest.fixture
def trace_folder() -> Path:
    """The folder of traces recorded on real GPUs; tests that read them are skipped where it is absent."""
    beside = Path(__file__).parents[3] / "shared" / "traces"
    folder = Path(os.environ.get("PERFTUI_TEST_TRACES", beside))
    if not folder.is_dir():
        pytest.skip(f"no folder of public traces at {folder}")
    return folder


@pytest.fixture(params=PUBLIC_TRACES)
def public_trace(request: pytest.FixtureRequest, trace_folder: Path) -> Path:
    """Each public trace of the folder in turn."""
    return trace_folder / f"{request.param}.json.gz"
