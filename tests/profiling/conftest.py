"""Small traces made by hand, whose figures can be worked out on paper."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Event = dict[str, Any]
TraceWriter = Callable[..., Path]

PUBLIC_TRACES = (
    "h200_resnet50_bs128",
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
def trace_folder() -> Path:
    """The folder of traces recorded on real GPUs; tests that read them are skipped where it is absent."""
    beside = Path(__file__).parents[3] / "shared" / "traces"
    folder = Path(os.environ.get("PERFTUI_TEST_TRACES", beside))
    if not folder.is_dir():
        pytest.skip(f"no folder of public traces at {folder}")
    return folder


@pytest.fixture(params=PUBLIC_TRACES)
def public_trace(request: pytest.FixtureRequest, trace_folder: Path) -> Path:
    """Each trace of the folder in turn."""
    return trace_folder / f"{request.param}.json.gz"
