"""`perftui trace` as it is typed."""

import json
from pathlib import Path

import msgspec
import pytest

from perftui.ipc.trace_report import TraceReport
from perftui.tui.cli import main
from tests.profiling.trace_maker import LOADER, TraceMaker


def made(rank: int, loader_ns: int) -> TraceMaker:
    maker = TraceMaker(head={"distributedInfo": {"rank": rank, "world_size": 2}})
    for _ in range(2):
        maker.step()
        maker.compute(500_000, "ampere_sgemm_128x64_nn")
        maker.communicate(10_000, **{"Collective name": "allreduce", "Process Group Name": "0"})
        maker.copy(5000)
        maker.add("cpu_op", "aten::mm", maker.now_ns - 90_000, 40_000)
        maker.idle(loader=loader_ns, sync_call=3000)
    return maker


def test_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(1, 480_000).write(tmp_path / "b.json.gz")
    made(0, 480_000).write(tmp_path / "a.json")
    assert main(["trace", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    lines = said.out.splitlines()
    assert lines[0] == (
        "Rank 0 of 2 recorded: the GPU waited for the data loader for 48 % of these 2 steps; "
        "the GPU computed for 50 %."
    )
    assert lines[2].startswith("rank 0: 2 steps, 2.00 ms, ")
    assert lines[3] == "█" * 30 + "▒" + "·" * 29
    assert lines[4] == (
        "█ compute 50.2%  ▓ compute with communication 0.0%  ▒ communication 1.0%  "
        "░ copies 0.5%  · idle 48.3%"
    )
    assert lines[5].startswith("idle for  loader 48.0%, waiting call 0.3%, other host work 0.0%")
    for word in (
        "ampere_sgemm",
        "aten::mm",
        "cudaStreamSynchronize",
        "HtoD (Pinned -> Device)",
        "allreduce",
        LOADER[:30],
    ):
        assert word in said.out
    assert "IN COLLECTIVES" in said.out


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made(1, 480_000).write(tmp_path / "trace.json")
    assert main(["trace", str(path), "--json"]) == 0
    said = capsys.readouterr().out
    document = json.loads(said)
    assert document["schema"] == 1
    (rank,) = document["ranks"]
    assert rank["rank"] == 1
    assert set(rank["gpu"]) == {"compute_only", "overlap", "comm_exposed", "mem_exposed", "idle"}
    assert set(rank["idle"]) == {"loader", "sync_call", "host_other", "launch_latency", "dependency"}
    assert sum(rank["gpu"].values()) == pytest.approx(1)
    for name in ("window_ms", "kernels", "operators", "launches", "queue", "syncs", "memcpy", "collectives"):
        assert rank[name]
    for name in ("name", "count", "total_us", "self_us", "share"):
        assert name in rank["kernels"][0]
        assert name in rank["operators"][0]
    assert {
        "idle_pct",
        "compute_pct",
        "non_compute_pct",
        "overlap_pct",
        "idle_classes",
        "launch_stats",
    } == set(rank["hta"])
    assert msgspec.json.decode(said, type=TraceReport).ranks[0].rank == 1


def test_chosen_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(made(rank, 1000).write(tmp_path / f"{rank}.json")) for rank in (0, 1)]
    assert main(["trace", *files, "--ranks", "1", "--json"]) == 0
    assert [rank["rank"] for rank in json.loads(capsys.readouterr().out)["ranks"]] == [1]
    assert main(["trace", *files, "--ranks", "5"]) == 2
    assert "--ranks 5: none of the files is of these ranks" in capsys.readouterr().err


def test_one_bad_file_of_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = made(0, 1000).write(tmp_path / "good.json")
    bad = tmp_path / "bad.json"
    bad.write_bytes(good.read_bytes()[:-40])
    assert main(["trace", str(good), str(bad)]) == 0
    out = capsys.readouterr().out
    assert f"rank 1: {bad}: cut off at byte" in out


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (None, 2, "no such file or folder"),
        (b"{}", 4, "not a torch.profiler trace"),
        (b"not json", 4, "not JSON"),
        (b'{"traceEvents": [{"ph": "X", "cat', 4, "cut off at byte 33"),
    ],
)
def test_what_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, code: int, said: str
) -> None:
    path = tmp_path / "trace.json"
    if content is not None:
        path.write_bytes(content)
    for more in ([], ["--json"]):
        assert main(["trace", str(path), *more]) == code
        spoken = capsys.readouterr()
        assert spoken.out == ""
        assert spoken.err.startswith(f"perftui: {path}: ")
        assert said in spoken.err
        assert len(spoken.err.splitlines()) == 1


def test_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace"]) == 2
    assert "perftui trace --help" in capsys.readouterr().err
