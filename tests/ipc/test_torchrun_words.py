"""The number of ranks in commands of torchrun, however they are written."""

import pytest

from perftui.ipc.errors import Refused
from perftui.ipc.torchrun_words import starts_torchrun, with_nproc


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("torchrun train.py", "torchrun --nproc-per-node=4 train.py"),
        ("torchrun --nproc_per_node=2 train.py", "torchrun --nproc_per_node=4 train.py"),
        ("torchrun --nproc-per-node 2 train.py", "torchrun --nproc-per-node 4 train.py"),
        (
            "/a/torchrun --standalone --nproc_per_node gpu -m pkg.train",
            "/a/torchrun --standalone --nproc_per_node 4 -m pkg.train",
        ),
        (
            "python3.11 -u -m torch.distributed.run --nproc-per-node=2 train.py --nproc-per-node=9",
            "python3.11 -u -m torch.distributed.run --nproc-per-node=4 train.py --nproc-per-node=9",
        ),
        (
            "python -m torch.distributed.launch train.py",
            "python -m torch.distributed.launch --nproc-per-node=4 train.py",
        ),
        (
            "env A=1 python -X dev /a/bin/torchrun train.py",
            "env A=1 python -X dev /a/bin/torchrun --nproc-per-node=4 train.py",
        ),
    ],
)
def test_where_the_number_goes(command: str, expected: str) -> None:
    assert starts_torchrun(command.split())
    assert with_nproc(command.split(), 4) == expected.split()


@pytest.mark.parametrize(
    "command",
    ["python train.py", "python -m train", "accelerate launch train.py", "python train.py torchrun", "x"],
)
def test_other_commands_are_refused(command: str) -> None:
    assert not starts_torchrun(command.split())
    with pytest.raises(Refused, match=r"torchrun\.nproc_per_node=2 cannot be applied"):
        with_nproc(command.split(), 2)
