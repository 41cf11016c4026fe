"""A loader without workers: whether its thread waits itself, and batches that it makes on the GPU."""

from dataclasses import replace

import msgspec.structs
import pytest

from perftui.ipc.facts import BatchFacts, BatchSignature, RankFacts, StackPlace, TensorFacts
from perftui.ipc.view import DeviceView
from perftui.trainer.diagnosis.signals import RankSignals

from .made import QUIET, backends, facts, found, gpu, gpu_rank, lead, rank, run, shares, stacks


@pytest.mark.parametrize("read_mib_s", [0.0, 20.0])
@pytest.mark.parametrize(
    ("cpu", "device", "ranks", "threads", "idle"),
    [
        (0.58, "cuda:0", 1, None, False),  # 0.4 of decoding and 0.18 of the rest, asleep in the backward
        (0.15, "cuda:0", 1, None, False),  # at most 0.375 of the wait
        (0.13, "cuda:0", 1, None, True),
        (0.58, "cpu", 2, None, False),  # asleep in exchanges
        (0.13, "cpu", 2, None, True),
        (0.72, "cpu", 1, 8, True),
        (0.74, "cpu", 1, 8, False),
        (0.58, "cpu", 1, 9, False),  # asleep until the last of the threads is done
        (0.13, "cpu", 1, 9, True),
    ],
)
def test_a_thread_waits_only_where_it_cannot_have_computed(
    cpu: float, device: str, ranks: int, threads: int | None, idle: bool, read_mib_s: float
) -> None:
    books = backends(num_threads=threads) if threads else facts()
    wait = shares(wait=0.4, other=0.01, forward=0.15)
    alone = [rank(n, device=device, shares=wait, cpu_share=cpu, facts=books) for n in range(ranks)]
    finding = found(run(*alone, host=replace(QUIET, run_storage_read_mib_s=read_mib_s)))
    codes = [code for code in finding if code.startswith("input.")]
    assert codes == ["input.storage" if idle and read_mib_s else "input.workers"]
    sentence = finding[codes[0]].sentence
    assert ("waits for storage" in sentence) is (idle and read_mib_s > 0)
    assert ("does not compute meanwhile" in sentence) is (idle and not read_mib_s)


def _batch(device: str) -> RankFacts:
    tensors = [TensorFacts(shape=[64], dtype="int64", device=each) for each in ("cpu", device)]
    return facts(batch=BatchFacts(looked=1, newest=BatchSignature(tensors=tensors), distinct_shapes=1))


def _starved(books: RankFacts, cpu: float = 0.9) -> RankSignals:
    return gpu_rank(facts=books, shares=shares(wait=0.4, forward=0.2), cpu_share=cpu)


@pytest.mark.parametrize("cpu", [0.9, 0.05], ids=["computes", "waits"])
@pytest.mark.parametrize(("device", "workers"), [("cpu", True), ("cuda:0", False), ("cuda:1", False)])
def test_samples_on_the_gpu_are_offered_no_workers(device: str, workers: bool, cpu: float) -> None:
    finding = lead(run(_starved(_batch(device), cpu)))
    assert finding.code == "input.workers"
    assert finding.remedy is not None
    assert ("loader.num_workers" in finding.remedy.set) is workers
    assert ("keep them on the CPU" in (finding.remedy.advice or "")) is not workers


@pytest.mark.parametrize(("device", "workers"), [("cpu", True), ("cuda:0", False)])
def test_samples_that_are_put_together_on_the_gpu_are_offered_none_either(device: str, workers: bool) -> None:
    place = StackPlace(area="collate", at="train.py:7 rows", line="return torch.tensor(rows)", count=28)
    looked = stacks(100, place, collate=30, dataset=10, model=60)
    finding = lead(run(_starved(msgspec.structs.replace(_batch(device), stacks=looked))))
    assert finding.code == "input.collate"
    assert finding.remedy is not None
    assert ("loader.num_workers" in finding.remedy.set) is workers


@pytest.mark.parametrize(("device", "pinned"), [("cpu", True), ("cuda:0", False)])
def test_batches_on_the_gpu_are_not_page_locked(device: str, pinned: bool) -> None:
    times = DeviceView(
        sampled_steps=5, step_ms=100.0, wait_ms=0.0, h2d_ms=20.0, forward_ms=30.0, backward_ms=40.0,
        optimizer_ms=10.0, other_ms=0.0,
    )  # fmt: skip
    finding = found(run(gpu_rank(facts=_batch(device), device_ms=times), gpus=(gpu(),)))["transfer.pageable"]
    assert finding.remedy is not None
    assert finding.remedy.set == ({"loader.pin_memory": True} if pinned else {})
    assert ("keep them on the CPU" in (finding.remedy.advice or "")) is not pinned
    assert (finding.unsure is None) is pinned
