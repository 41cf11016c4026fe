"""Several ranks: who waited, and for whom."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from perftui.ipc.trace_report import RankWait
from perftui.trainer.profiling.analysis import analyse_files
from perftui.trainer.profiling.collective_calls import CollectiveCall
from perftui.trainer.profiling.rank_waits import rank_waits, straggler
from tests.profiling.made_ranks import made_ranks
from tests.profiling.trace_maker import TraceMaker


@pytest.mark.parametrize("sequence", [True, False])
def test_the_straggler(tmp_path: Path, sequence: bool) -> None:
    report = analyse_files(made_ranks([0, 10, 60], tmp_path, sequence=sequence))
    assert [rank.rank for rank in report.ranks] == [0, 1, 2]
    assert [(wait.rank, wait.matched, wait.last_share) for wait in report.waits] == [
        (0, 20, 0),
        (1, 20, 0),
        (2, 20, 1),
    ]
    assert [wait.wait_us for wait in report.waits] == pytest.approx([20 * 60, 20 * 50, 0])
    assert [wait.late_us for wait in report.waits] == pytest.approx([0, 10, 60])
    assert report.straggler == 2
    assert report.sentence.startswith(
        "The other ranks waited for rank 2 in collectives, 33 % of the window more"
    )
    (collective,) = report.ranks[0].collectives
    assert (collective.name, collective.group, collective.count, collective.mib) == (
        "allreduce",
        "dp",
        20,
        20.0,
    )
    assert collective.wait_us == pytest.approx(1200)
    assert collective.total_us == pytest.approx(20 * 65)
    assert collective.exposed_us == pytest.approx(collective.total_us)


@pytest.mark.parametrize("sequence", [True, False])
def test_a_lost_head_does_not_shift_the_match(tmp_path: Path, sequence: bool) -> None:
    """Rank 1 misses the first three: the others are matched without it there, and with it from then on."""
    report = analyse_files(made_ranks([0, 0, 60], tmp_path, sequence=sequence, lost_head=3))
    assert [(wait.rank, wait.matched) for wait in report.waits] == [(0, 20), (1, 17), (2, 20)]
    assert [wait.wait_us for wait in report.waits] == pytest.approx([1200, 17 * 60, 0])
    assert report.straggler == 2


@pytest.mark.parametrize(
    ("kernel", "args"),
    [
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", {}),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", {}),
        ("ncclSendRecvKernel_copy_i8(ncclColl)", {}),
        ("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", {}),
        ("ncclDevKernel_SendRecv", {"Collective name": "recv", "Process Group Name": "pp"}),
    ],
)
def test_a_pipelines_sends_and_receives_make_no_straggler(
    tmp_path: Path, kernel: str, args: dict[str, object]
) -> None:
    """Four stages, of which each waits less in its receives than the one before: that is the schedule."""
    paths: list[Path] = []
    for stage in range(4):
        maker = TraceMaker(head={"distributedInfo": {"rank": stage, "world_size": 4}})
        maker.step()
        for _ in range(10):
            maker.compute(100_000 + stage * 40_000)
            maker.communicate(150_000 - stage * 40_000, kernel, **args)
        paths.append(maker.write(tmp_path / f"trace_{stage}.json"))
    report = analyse_files(paths)
    assert (report.straggler, report.waits) == (None, [])
    assert "waited for rank" not in report.sentence
    (shown,) = report.ranks[0].collectives
    assert shown.count == 10
    assert shown.total_us == pytest.approx(1500)


ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def unnamed_ranks(
    folder: Path, lasting_us: Sequence[int], distributed: dict[str, object], named: str | None = None
) -> list[Path]:
    """Write a trace a rank: 10 all-reduces without a group, which last so long, and one with a group."""
    paths: list[Path] = []
    for rank, us in enumerate(lasting_us):
        maker = TraceMaker(head={"distributedInfo": {"rank": rank} | distributed})
        for _ in range(2):
            maker.step()
            for _ in range(5):
                maker.compute(300_000 - us * 1000)
                maker.communicate(us * 1000, ALL_REDUCE)
            if named is not None:
                maker.communicate(us * 1000, **{"Collective name": "allreduce", "Process Group Name": named})
        paths.append(maker.write(folder / f"trace_{rank}.json"))
    return paths


UNKNOWN = (
    "which ranks take part in ncclDevKernel_AllReduce_Sum_bf16_RING_LL cannot be told: they are not compared "
    "by it"
)


@pytest.mark.parametrize("distributed", [{"world_size": 4}, {"world_size": 4, "pg_count": 3}, {}])
def test_groups_without_names_are_not_taken_for_one(tmp_path: Path, distributed: dict[str, object]) -> None:
    """Tensor parallelism in CUDA graphs: ranks 0 and 1, and 2 and 3 of which reduce less; nobody waits."""
    report = analyse_files(unnamed_ranks(tmp_path, [80, 80, 40, 40], distributed))
    assert (report.straggler, report.waits) == (None, [])
    assert report.notes == [UNKNOWN]
    assert [one.wait_us for rank in report.ranks for one in rank.collectives] == [None] * 4


@pytest.mark.parametrize(
    ("lasting_us", "distributed"),
    [([80, 80, 40, 80], {"world_size": 4, "pg_count": 1}), ([80, 40], {"world_size": 2})],
)
def test_without_names_a_world_of_one_group_is_compared(
    tmp_path: Path, lasting_us: list[int], distributed: dict[str, object]
) -> None:
    report = analyse_files(unnamed_ranks(tmp_path, lasting_us, distributed))
    assert report.straggler == lasting_us.index(40)
    assert {wait.matched for wait in report.waits} == {10}
    assert report.notes == []


def test_two_traces_of_a_larger_world_may_be_of_two_groups(tmp_path: Path) -> None:
    report = analyse_files(unnamed_ranks(tmp_path, [80, 40], {"world_size": 8}))
    assert (report.straggler, report.waits, report.notes) == (None, [], [UNKNOWN])


def test_what_has_a_group_is_compared_beside_what_has_none(tmp_path: Path) -> None:
    report = analyse_files(unnamed_ranks(tmp_path, [80, 80, 40, 80], {"world_size": 4, "pg_count": 2}, "dp"))
    assert {wait.matched for wait in report.waits} == {2}
    waited = {one.name: one.wait_us for one in report.ranks[0].collectives}
    assert waited == {"allreduce": pytest.approx(80), ALL_REDUCE.split("(")[0]: None}
    assert UNKNOWN in report.notes
    one_alone = analyse_files(unnamed_ranks(tmp_path, [80, 80], {"world_size": 4})[:1])
    assert one_alone.notes == []


def test_an_all_to_all_is_a_collective_though_its_kernel_sends_and_receives(tmp_path: Path) -> None:
    paths: list[Path] = []
    for rank, late in enumerate((0, 60_000)):
        maker = TraceMaker(head={"distributedInfo": {"rank": rank, "world_size": 2}})
        maker.step()
        for number in range(10):
            maker.compute(100_000 + late)
            maker.communicate(
                65_000 - late, "ncclDevKernel_SendRecv", **{"Collective name": "all_to_allv", "Seq": number}
            )
        paths.append(maker.write(tmp_path / f"trace_{rank}.json"))
    report = analyse_files(paths)
    assert (report.straggler, [wait.matched for wait in report.waits]) == (1, [10, 10])


def test_equal_ranks_have_no_straggler(tmp_path: Path) -> None:
    report = analyse_files(made_ranks([3, 3], tmp_path, sequence=True))
    assert report.straggler is None
    assert [wait.wait_us for wait in report.waits] == [0, 0]
    assert [wait.last_share for wait in report.waits] == [0, 0]


def test_a_wait_that_computing_hides_makes_no_straggler() -> None:
    """Two H200s at 97 % computing: their overlapped all-reduces differed by 20 % of the window."""
    waits = [
        RankWait(rank=0, matched=40, wait_us=20_000, late_us=0, last_share=0.1),
        RankWait(rank=1, matched=40, wait_us=0, late_us=500, last_share=0.9),
    ]
    assert straggler(waits, 100_000, {}) == (1, 0.2)
    assert straggler(waits, 100_000, {0: None, 1: 0.5}) == (1, 0.2)
    assert straggler(waits, 100_000, {0: 0.1, 1: 0.0}) == (1, 0.1)
    assert straggler(waits, 100_000, {0: 0.02, 1: 0.5}) is None


def test_who_comes_late_changes(tmp_path: Path) -> None:
    """Each waits for the other half of the time: nobody stands out."""
    draw = random.Random(1)
    calls: dict[int, list[CollectiveCall]] = {0: [], 1: []}
    for number in range(100):
        late = draw.randrange(2)
        for rank in (0, 1):
            calls[rank].append(
                CollectiveCall("a", "g", None, number, number, 100 if rank == late else 60_000)
            )
    waits = rank_waits(calls)
    assert straggler(waits.ranks, 1e7, {}) is None
    assert sum(wait.last_share for wait in waits.ranks) == 1


def test_groups_are_matched_apart() -> None:
    """Two groups of the same name over other ranks, as tensor parallelism makes them."""

    def call(members: str, ns: int) -> CollectiveCall:
        return CollectiveCall("allreduce", "tp", members, 5, 0, ns)

    waits = rank_waits(
        {
            0: [call("[0, 1]", 10_000)],
            1: [call("[0, 1]", 4000)],
            2: [call("[2, 3]", 900)],
            3: [call("[2, 3]", 1000)],
        }
    )
    assert [(wait.rank, wait.wait_us) for wait in waits.ranks] == [(0, 6.0), (1, 0.0), (2, 0.0), (3, 0.1)]
    assert waits.by_kind[0, "allreduce", "tp"] == 6.0


def test_ranks_whose_windows_began_apart_have_no_straggler(tmp_path: Path) -> None:
    """Rank 0 waits once for rank 1 to begin, and is a little earlier in half of the other collectives."""
    paths: list[Path] = []
    for rank in range(2):
        maker = TraceMaker(head={"distributedInfo": {"rank": rank, "world_size": 2}})
        for step in range(3):
            maker.step()
            for number in range(4):
                maker.compute(100_000)
                late = (0, 300)[rank == 0 and number % 2] + 3_000_000 * (rank == step == number == 0)
                maker.communicate(5000 + late, **{"Collective name": "allreduce", "Seq": 4 * step + number})
        paths.append(maker.write(tmp_path / f"rank{rank}.json"))
    report = analyse_files(paths)
    assert report.notes == ["rank 0: the longest communication kernel takes 71% of the window"]
    assert report.straggler is None
    assert report.sentence == (
        "Rank 0 of 2 recorded: the GPU computed for 28 % of these 3 steps and communicated alone for 72 %; "
        "why cannot be told: the longest communication kernel takes 71% of the window."
    )
    assert [wait.matched for wait in report.waits] == [12, 12]


@pytest.mark.parametrize("sequence", [True, False])
def test_a_recording_that_stopped_early_is_matched_by_numbers_alone(tmp_path: Path, sequence: bool) -> None:
    """Rank 1 has lost its end: counted from there its calls would be those of others."""
    paths: list[Path] = []
    for rank in range(2):
        maker = TraceMaker(head={"distributedInfo": {"rank": rank, "world_size": 2}})
        maker.step()
        for number in range(12):
            args: dict[str, object] = {"Collective name": "allreduce", "Process Group Name": "0"}
            args |= {"Seq": number} if sequence else {}
            maker.compute(100_000)
            if rank and number > 8:
                maker.launch(maker.now_ns)
                maker.now_ns += 1000 * number
            else:
                maker.communicate(1000 * number + 1000, **args)
        paths.append(maker.write(tmp_path / f"rank{rank}.json"))
    report = analyse_files(paths)
    assert [wait.matched for wait in report.waits] == ([9, 9] if sequence else [])
    assert all(wait.wait_us == 0 for wait in report.waits)


@pytest.mark.parametrize("sequence", [True, False])
@pytest.mark.parametrize("first_step", [1, 3, 4])
def test_windows_of_other_steps_are_matched_by_numbers_alone(
    tmp_path: Path, first_step: int, sequence: bool
) -> None:
    """Rank 1 is recorded from another step on; steps differ in how long their collective takes."""
    paths: list[Path] = []
    for rank in range(2):
        maker = TraceMaker(head={"distributedInfo": {"rank": rank, "world_size": 2}})
        for step in range(3):
            number = step + (first_step if rank else 1)
            maker.step()
            maker.compute(100_000)
            args: dict[str, object] = {"Collective name": "allreduce"}
            args |= {"Seq": number} if sequence else {}
            maker.communicate(10_000 * number, **args)
        maker.end_step()
        for event in maker.events:
            if rank and event["name"].startswith("ProfilerStep#"):
                event["name"] = f"ProfilerStep#{int(event['name'][13:]) + first_step - 1}"
        paths.append(maker.write(tmp_path / f"rank{rank}.json"))
    report = analyse_files(paths)
    apart = "the traces end with different steps: collectives are compared by torch's own numbers alone"
    assert (apart in report.notes) is (first_step > 1)
    matched = {1: [3, 3], 3: [1, 1], 4: []} if sequence else {1: [3, 3], 3: [], 4: []}
    assert [wait.matched for wait in report.waits] == matched[first_step]
    assert report.straggler is None


def test_other_jobs_are_not_compared(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = made_ranks([0, 60], tmp_path / "a", sequence=True)[0]
    second = made_ranks([0, 60, 0], tmp_path / "b", sequence=True)[1]
    report = analyse_files([first, second])
    assert report.waits == []
    assert "traces of different jobs (world sizes [2, 3]): ranks are not compared" in report.notes
