"""Who is a loader worker, and whose: on processes as fork, spawn and a fork server leave them."""

from collections.abc import Callable

import pytest

from perftui.trainer.telemetry.process_table import ProcessKey, ProcessReading, parse_stat
from perftui.trainer.telemetry.worker_kin import Kin, RankProcess, find_workers, names_workers
from tests.telemetry.fake_root import stat

TRAIN = b"python\0train.py\0"
SPAWN = b"python\0-c\0from multiprocessing.spawn import spawn_main; spawn_main()\0--multiprocessing-fork\0"
SERVER = b"python\0-c\0from multiprocessing.forkserver import main; main()\0"
TRACKER = b"python\0-c\0from multiprocessing.resource_tracker import main;main(5)\0"


def _table(*processes: tuple[int, int, str]) -> dict[ProcessKey, ProcessReading]:
    """Processes as (pid, parent, name)."""
    found: dict[ProcessKey, ProcessReading] = {}
    for pid, parent, name in processes:
        reading = parse_stat(pid, stat(pid, pid * 7, name=name, parent=parent).encode())
        assert reading is not None
        found[reading.key] = reading
    return found


def _rank(number: int = 0, pid: int = 10, **facts: object) -> RankProcess:
    return RankProcess(number, pid, pid * 7, **facts)  # type: ignore[arg-type]


def _commands(**lines: bytes) -> Callable[[ProcessReading], bytes | None]:
    return lambda reading: lines.get(f"p{reading.pid}")


def _found(
    table: dict[ProcessKey, ProcessReading], *ranks: RankProcess, **lines: bytes
) -> dict[int, tuple[int, str, int | None]]:
    kin: dict[ProcessKey, Kin] = find_workers(table, {rank.pid: rank for rank in ranks}, _commands(**lines))
    return {pid: (each.rank, each.found_by, each.number) for (pid, _), each in kin.items()}


def test_torch_names_its_workers_and_ancestry_tells_whose_they_are() -> None:
    table = _table(
        (5, 1, "torchrun"), (10, 5, "python"), (20, 5, "python"),
        (11, 10, "pt_data_worker"), (12, 10, "pt_data_worker"), (13, 10, "ffmpeg"),
        (21, 20, "python"), (22, 21, "pt_data_worker"),  # by way of a fork server
    )  # fmt: skip
    named = {"names_workers": True}
    found = _found(table, _rank(0, 10, **named), _rank(1, 20, **named), p21=SERVER, p22=SERVER)
    assert found == {11: (0, "name", None), 12: (0, "name", None), 22: (1, "name", None)}


def test_what_a_worker_starts_is_no_worker_although_it_bears_its_name_for_a_moment() -> None:
    table = _table((10, 1, "python"), (11, 10, "pt_data_worker"), (12, 11, "pt_data_worker"))
    assert list(_found(table, _rank(names_workers=True))) == [11]


def test_workers_of_a_process_that_is_no_rank_belong_to_nobody() -> None:
    table = _table((10, 1, "python"), (30, 1, "python"), (31, 30, "pt_data_worker"))
    assert _found(table, _rank(names_workers=True)) == {}


def test_a_rank_whose_pid_was_given_away_has_no_workers() -> None:
    table = _table((10, 1, "python"), (11, 10, "pt_data_worker"))
    assert _found(table, RankProcess(0, 10, 71, True)) == {}
    assert list(_found(table, RankProcess(0, 10, 70, True))) == [11]


@pytest.mark.parametrize("torch_names", [False, None])
def test_without_names_children_of_multiprocessing_are_workers_by_kinship(torch_names: bool | None) -> None:
    table = _table(
        (10, 1, "python"), (11, 10, "python"), (12, 10, "python"), (13, 10, "python"), (14, 10, "python"),
        (15, 14, "python"), (16, 15, "python"), (17, 10, "sh"), (18, 10, "python"),
    )  # fmt: skip
    found = _found(
        table, _rank(names_workers=torch_names),
        p10=TRAIN, p11=TRAIN, p12=SPAWN, p13=TRACKER, p14=SERVER, p15=SERVER, p16=SERVER, p17=b"sh\0-c\0x\0",
    )  # fmt: skip
    # 14 is the server itself, 16 a worker's child, 18 too young to have a command line of its own
    assert found == {11: (0, "kin", None), 12: (0, "kin", None), 15: (0, "kin", None)}


def test_kinship_is_not_asked_where_torch_names_workers_or_the_loader_has_none() -> None:
    table = _table((10, 1, "python"), (11, 10, "python"))
    lines = {"p10": TRAIN, "p11": TRAIN}
    assert _found(table, _rank(names_workers=True), **lines) == {}
    assert _found(table, _rank(names_workers=False, has_workers=False), **lines) == {}
    assert list(_found(table, _rank(names_workers=False, has_workers=True), **lines)) == [11]


def test_what_the_rank_tells_has_numbers_and_leaves_nothing_to_kinship() -> None:
    table = _table(
        (10, 1, "python"), (11, 10, "python"), (12, 10, "python"), (13, 10, "pt_data_worker"), (14, 1, "x")
    )
    lines = {f"p{pid}": TRAIN for pid in (10, 11, 12, 13)}
    told = ((12, 84), (99, 693), (11, 70))  # 99 has ended, 11 was given away
    found = _found(table, _rank(told=told, names_workers=False), **lines)
    assert found == {12: (0, "told", 0), 13: (0, "name", None)}


def test_a_worker_that_the_rank_tells_needs_no_kinship() -> None:
    table = _table((10, 1, "python"), (11, 1, "python"), (12, 77, "pt_data_worker"))
    told = ((12, 84), (11, 77))
    assert _found(table, _rank(told=told)) == {12: (0, "told", 0), 11: (0, "told", 1)}


def test_the_dead_are_no_workers() -> None:
    ended = parse_stat(11, stat(11, 77, name="pt_data_worker", state="Z", parent=10).encode())
    assert ended is not None
    assert _found({**_table((10, 1, "python")), ended.key: ended}, _rank(names_workers=True)) == {}


def test_a_circle_of_parents_ends() -> None:
    table = _table((30, 31, "pt_data_worker"), (31, 30, "python"))
    assert _found(table, _rank(names_workers=True)) == {}


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("2.14.1+cu130", True), ("2.5.0", True), ("2.4.1+cpu", False), ("1.13.1", False), ("3.0", True),
        ("unknown", None), ("", None),
    ],
)  # fmt: skip
def test_torch_names_workers_since_2_5(version: str, names: bool | None) -> None:
    assert names_workers(version) is names
