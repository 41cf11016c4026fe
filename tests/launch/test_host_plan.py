"""Who leads a run over several hosts, by options and by what launchers say."""

from pathlib import Path

import pytest

from perftui.ipc.errors import Refused, UsageError
from perftui.ipc.link_keys import new_job_key, read_key, write_key
from perftui.ipc.places import RunPlaces
from perftui.trainer.launch.host_discovery import FirstHost, first_host, first_of
from perftui.trainer.launch.host_plan import (
    HostsWish,
    forget_key,
    planned,
    with_key_written,
    words_for_others,
)

TORCHRUN = ["torchrun", "--nnodes=2", "--nproc-per-node", "2"]
ELSEWHERE = "192.0.2.7"
"""No address of this host: RFC 5737."""


@pytest.fixture
def key(tmp_path: Path) -> Path:
    write_key(tmp_path / "job.key", new_job_key())
    return tmp_path / "job.key"


@pytest.mark.parametrize(
    ("command", "environment", "found"),
    [
        ([*TORCHRUN, "--master-addr=n1", "t.py"], {}, FirstHost("n1", "torchrun's master address")),
        ([*TORCHRUN, "--master_addr", "n1", "t.py"], {}, FirstHost("n1", "torchrun's master address")),
        ([*TORCHRUN, "--rdzv-endpoint=n1:29400", "t.py"], {}, FirstHost("n1", "the rendezvous endpoint")),
        (
            ["python", "-m", "torch.distributed.run", "--rdzv_endpoint", "[fe80::1]:29400", "t.py"],
            {},
            FirstHost("fe80::1", "the rendezvous endpoint"),
        ),
        ([*TORCHRUN, "t.py", "--master-addr=script"], {}, None),
        ([*TORCHRUN, "t.py"], {"PET_MASTER_ADDR": "n2"}, FirstHost("n2", "torchrun's master address")),
        (
            [*TORCHRUN, "--master-addr=n1", "t.py"],
            {"SLURM_JOB_NODELIST": "m[3-4]", "MASTER_ADDR": "n3"},
            FirstHost("n1", "torchrun's master address"),
        ),
        (
            ["python", "t.py"],
            {"SLURM_JOB_NODELIST": "m[03-04],z", "MASTER_ADDR": "n3"},
            FirstHost("m03", "SLURM's list of hosts"),
        ),
        (["python", "t.py"], {"MASTER_ADDR": "n3"}, FirstHost("n3", "MASTER_ADDR")),
        (["python", "t.py"], {}, None),
    ],
)
def test_the_first_host_by_launcher(
    command: list[str], environment: dict[str, str], found: FirstHost | None
) -> None:
    assert first_host(command, environment) == found


@pytest.mark.parametrize(
    ("hosts", "first"),
    [
        ("node1", "node1"),
        ("node1,node2", "node1"),
        ("node[01-03,7],login", "node01"),
        ("tux[1-2]x[3,5]", "tux1x3"),
        ("a[10]-b,c", "a10-b"),
    ],
)
def test_the_first_of_a_host_list(hosts: str, first: str) -> None:
    assert first_of(hosts) == first


def test_without_a_wish_a_run_has_one_host() -> None:
    assert planned(HostsWish(), [*TORCHRUN, "--master-addr=n1", "t.py"], {}) is None


def test_a_key_in_the_shell_does_not_hinder_a_run_on_one_host(key: Path) -> None:
    variable = {"PERFTUI_JOB_KEY": str(key)}
    assert planned(HostsWish(), ["python", "t.py"], variable) is None
    assert planned(HostsWish(), ["python", "t.py"], {**variable, "MASTER_ADDR": "localhost"}) is None
    joins = planned(HostsWish(), ["python", "t.py"], {**variable, "MASTER_ADDR": ELSEWHERE})
    assert joins is not None
    assert joins.plan.role == "member"


def test_the_lead_makes_a_key_for_its_run(tmp_path: Path) -> None:
    launch = planned(HostsWish(lead="127.0.0.1"), ["python"], {})
    assert launch is not None
    places = RunPlaces("run", tmp_path / "runtime", tmp_path)
    plan = with_key_written(launch, places)
    assert (plan.role, plan.host) == ("lead", "127.0.0.1")
    assert read_key(Path(plan.key)).port == plan.port
    told = words_for_others(plan)
    assert f"--join 127.0.0.1:{plan.port} --key {plan.key}" in told[0]
    assert not any(read_key(Path(plan.key)).secret.hex() in line for line in told)
    forget_key(plan, places)
    assert not Path(plan.key).exists()


def test_a_key_that_was_given_stays_at_the_end(key: Path, tmp_path: Path) -> None:
    launch = planned(HostsWish(lead="127.0.0.1:20001", key=key), ["python"], {})
    assert launch is not None
    assert launch.plan.port == 20001
    forget_key(launch.plan, RunPlaces("run", tmp_path / "runtime", tmp_path / "elsewhere"))
    assert key.exists()


def test_others_join_what_the_launcher_names(key: Path) -> None:
    for environment in ({"SLURM_JOB_NODELIST": ELSEWHERE}, {"MASTER_ADDR": ELSEWHERE}):
        launch = planned(HostsWish(key=key), ["python", "t.py"], environment)
        assert launch is not None
        assert (launch.plan.role, launch.plan.host) == ("member", ELSEWHERE)
        assert launch.plan.port == read_key(key).port
    by_variable = planned(HostsWish(join=ELSEWHERE), ["python"], {"PERFTUI_JOB_KEY": str(key)})
    assert by_variable is not None
    assert by_variable.plan.role == "member"


@pytest.mark.parametrize(
    ("wish", "environment", "error", "words"),
    [
        (HostsWish(lead="127.0.0.1", join="a"), {}, UsageError, "exclude each other"),
        (HostsWish(join="a"), {}, UsageError, "needs the lead's key"),
        (HostsWish(lead=ELSEWHERE), {}, Refused, "cannot be listened on"),
        (HostsWish(join="a"), {"PERFTUI_JOB_KEY": "job.key"}, UsageError, "not an absolute path"),
    ],
)
def test_what_cannot_be_is_refused(
    wish: HostsWish, environment: dict[str, str], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        planned(wish, ["python", "t.py"], environment)


def test_a_key_alone_needs_a_launcher_that_says_who_leads(key: Path) -> None:
    with pytest.raises(UsageError, match="nothing says which host leads"):
        planned(HostsWish(key=key), ["python", "t.py"], {})
    with pytest.raises(Refused, match="where no other host comes"):
        planned(HostsWish(key=key), ["python", "t.py"], {"MASTER_ADDR": "127.0.0.1"})


def test_a_key_for_looking_neither_leads_nor_joins(key: Path, tmp_path: Path) -> None:
    write_key(tmp_path / "watch.key", read_key(key).for_role("watch"))
    for wish in (HostsWish(lead="127.0.0.1"), HostsWish(join=ELSEWHERE)):
        with pytest.raises(Refused):
            planned(HostsWish(wish.lead, wish.join, tmp_path / "watch.key"), ["python"], {})
