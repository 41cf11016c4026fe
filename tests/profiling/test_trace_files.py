"""Several files: whose trace is whose, also where one is none, or where they are of one rank."""

from pathlib import Path

import pytest

from perftui.ipc.errors import UsageError
from perftui.trainer.profiling.analysis import analyse_files
from perftui.trainer.profiling.report_text import report_text
from perftui.trainer.profiling.trace_files import as_windows, named_rank, ranks_of, trace_files
from tests.profiling.made_ranks import made_ranks


def odd_ones(paths: list[Path], folder: Path, kind: str) -> list[Path]:
    """Give the traces names that tell no rank, with a file among them that cannot be read."""
    named = [path.rename(folder / f"host_{80 + rank}.17.pt.trace.json") for rank, path in enumerate(paths)]
    if kind == "truncated":
        cut = named.pop(1)
        cut.write_bytes(cut.read_bytes()[:-200])
        return [cut, *named]
    (folder / "config.json").write_text("{}")
    return trace_files([folder])


@pytest.mark.parametrize(("kind", "bad"), [("config", 3), ("truncated", 1)])
def test_a_bad_file_spoils_no_other_rank(tmp_path: Path, kind: str, bad: int) -> None:
    paths = odd_ones(made_ranks([0, 0, 60], tmp_path, sequence=True), tmp_path, kind)
    report = analyse_files(paths)
    assert [rank.rank for rank in report.ranks if rank.error is not None] == [bad]
    assert all(
        Path(rank.path).name == f"host_{80 + rank.rank}.17.pt.trace.json"
        for rank in report.ranks
        if rank.error is None
    )
    assert report.straggler == 2
    (asked,) = analyse_files(paths, ranks=[2]).ranks
    assert Path(asked.path).name == "host_82.17.pt.trace.json"
    assert [note for note in report.notes if "the order given" in note or "guess" in note] == []


def windows_of_one_rank(folder: Path) -> list[Path]:
    """Write two windows of rank 0, of which the second communicates for longer."""
    first, second = folder / "one", folder / "two"
    first.mkdir()
    second.mkdir()
    return [
        made_ranks([60, 60], first, sequence=False)[0].rename(folder / "host_77.1.pt.trace.json"),
        made_ranks([0, 60], second, sequence=False)[0].rename(folder / "host_77.2.pt.trace.json"),
    ]


def test_windows_of_one_rank_are_no_ranks(tmp_path: Path) -> None:
    report = analyse_files(windows_of_one_rank(tmp_path))
    assert (report.straggler, report.waits, report.windows) == (None, [], True)
    assert report.sentence.startswith("Window 1 of 2 recorded: communication that no computing hid")
    assert report.notes == [
        "several windows of rank 0: numbered in the order given, and not compared as ranks",
        "window 0: 1 complete step",
        "window 1: 1 complete step",
    ]
    assert [rank.rank for rank in report.ranks] == [0, 1]
    assert [line.split(":")[0] for line in report_text(report) if line.startswith("window")] == [
        "window 0",
        "window 1",
    ]


def test_windows_are_chosen_by_their_rank(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = made_ranks([0, 0], tmp_path / "other", sequence=False)[1]
    paths = [*windows_of_one_rank(tmp_path), other]
    assert [rank.path for rank in analyse_files(paths, ranks=[0]).ranks] == [str(path) for path in paths[:2]]
    alone = analyse_files(paths, ranks=[1])
    assert [(rank.rank, rank.path) for rank in alone.ranks] == [(1, str(other))]
    assert not alone.windows


@pytest.mark.parametrize(
    ("told", "named", "bad", "ranks", "guessed"),
    [
        ([3, 1], [0, 1], "", [3, 1], False),
        ([None, None], [5, 2], "", [5, 2], False),
        ([4, None], [9, 2], "", [4, 2], False),
        ([0, 0], [1, 2], "", [1, 2], False),
        ([0, 0], [None, 2], "", [0, 0], False),
        ([None, None], [3, 3], "", [3, 3], False),
        ([0, 1, 0, 1], [None] * 4, "", [0, 1, 0, 1], False),
        ([None, None], [None, None], "", [0, 1], True),
        ([None], [None], "", [0], False),
        ([7], [1], "", [7], False),
        ([None, 0, 1, 2, 3], [None] * 5, "x....", [4, 0, 1, 2, 3], False),
        ([0, None, 2], [None] * 3, ".x.", [0, 1, 2], False),
        ([None, 0, 1], [5, None, None], "x..", [5, 0, 1], False),
        ([None, 0, 1], [1, None, None], "x..", [2, 0, 1], False),
        ([None, None], [None, None], "x.", [1, 0], False),
        ([None, None, None], [None] * 3, "x..", [2, 0, 1], True),
        ([1, None, 2], [None] * 3, "...", [1, 0, 2], True),
        ([None, None], [None, None], "xx", [0, 1], False),
    ],
)
def test_whose_trace_it_is(
    told: list[int | None], named: list[int | None], bad: str, ranks: list[int], guessed: bool
) -> None:
    readable = [sign == "." for sign in bad] or [True] * len(told)
    found, note = ranks_of(told, named, readable)
    assert found == ranks
    assert (note is not None) is guessed


def test_a_guess_is_named() -> None:
    assert ranks_of([1, None, 2], [None] * 3, [True] * 3)[1] == "not all files tell their ranks: 0 is a guess"
    assert as_windows([0, 1, 2]) is None
    assert as_windows([0, 3, 0, 3, 1]) == (
        "several windows of ranks 0, 3: numbered in the order given, and not compared as ranks"
    )


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank3_step4_n3_ab12.json.gz", 3),
        ("trace_rank-12.pt.trace.json", 12),
        ("job.Rank.0.json", 0),
        ("frank7.json", None),
        ("host_123.456.pt.trace.json", None),
    ],
)
def test_ranks_in_names(name: str, rank: int | None) -> None:
    assert named_rank(Path(name)) == rank


def test_folders(tmp_path: Path) -> None:
    for name in (
        "rank10.json",
        "rank2.json.gz",
        "a.report.json",
        "b.analysis.json",
        "notes.txt",
        "rank2.timeline",
    ):
        (tmp_path / name).touch()
    assert [path.name for path in trace_files([tmp_path])] == ["rank2.json.gz", "rank10.json"]
    assert trace_files([tmp_path / "rank10.json", tmp_path])[0].name == "rank10.json"
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="empty: no trace in this folder"):
        trace_files([tmp_path / "empty"])
    with pytest.raises(UsageError, match="gone: no such file or folder"):
        trace_files([tmp_path / "gone"])
