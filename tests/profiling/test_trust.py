"""Each trust check on a trace that passes it, one that fails it, and one of which it cannot be asked."""

from perftui.ipc.trace_report import TrustCheck
from tests.profiling.conftest import Reporter
from tests.profiling.trace_maker import TraceMaker, op

ALL = [
    "device_events",
    "causality",
    "unlinked",
    "idle_unlinked",
    "lost_launches",
    "complete_steps",
    "compiling",
    "truncated",
    "graphs_on_rocm",
    "distortion",
    "start_skew",
]


def good(api: str = "cuda") -> TraceMaker:
    maker = TraceMaker(api=api)
    for _ in range(3):
        maker.step()
        for _ in range(20):
            maker.compute(10_000)
        maker.communicate(10_000)
    maker.end_step()
    return maker


def checks(reported: Reporter, maker: TraceMaker) -> dict[str, TrustCheck]:
    return {check.name: check for check in reported(maker).trust}


def test_a_good_trace(reported: Reporter) -> None:
    found = checks(reported, good())
    assert list(found) == ALL
    unasked = {"graphs_on_rocm", "distortion", "idle_unlinked"}  # and it has no idle time
    assert {name: check.passed for name, check in found.items()} == {
        name: None if name in unasked else True for name in ALL
    }


def test_a_cpu_only_trace(reported: Reporter) -> None:
    found = {check.name: check.passed for check in reported([op("aten::mm", 0, 10)]).trust}
    assert {name for name, passed in found.items() if passed is not None} == {"compiling"}


def test_no_device_events(reported: Reporter) -> None:
    maker = good()
    maker.events = [one for one in maker.events if one["cat"] != "kernel"]
    found = checks(reported, maker)
    assert found["device_events"].passed is False
    assert "launch.bound" in found["device_events"].suppresses


def test_causality(reported: Reporter) -> None:
    maker = good()
    launched = next(one for one in maker.events if one["cat"] == "cuda_runtime")
    launched["ts"] += 0.9  # within the rounding of old traces
    assert checks(reported, maker)["causality"].passed is True
    launched["ts"] += 5
    found = checks(reported, maker)["causality"]
    assert (found.passed, found.value) == (False, 1 / 63)


def test_lost_launches(reported: Reporter) -> None:
    """Kernels lost at the head of a session: their launches are there."""
    maker = good()
    kernels = [one for one in maker.events if one["cat"] == "kernel"]
    lost = [id(one) for one in kernels[:2]]
    maker.events = [one for one in maker.events if id(one) not in lost]
    found = checks(reported, maker)
    assert (found["lost_launches"].passed, found["lost_launches"].value) == (False, 2 / 63)
    assert found["truncated"].passed is True


def test_truncated(reported: Reporter) -> None:
    maker = good()
    kernels = [one for one in maker.events if one["cat"] == "kernel"]
    lost = [id(one) for one in kernels[-10:]]
    maker.events = [one for one in maker.events if id(one) not in lost]
    found = checks(reported, maker)
    assert (found["truncated"].passed, found["truncated"].value) == (False, 10 / 63)


def test_one_step(reported: Reporter) -> None:
    maker = TraceMaker()
    maker.step()
    maker.compute(1000)
    found = checks(reported, maker)["complete_steps"]
    assert (found.passed, found.value, found.text) == (False, 1.0, "1 complete step")


def test_compiling(reported: Reporter) -> None:
    maker = good()
    maker.add("cpu_op", "_compile.compile_inner (dynamo_timed)", 1_000_000, 100_000)
    found = checks(reported, maker)["compiling"]
    assert (found.passed, found.value) == (False, 100 / 630)


def test_graphs_on_rocm(reported: Reporter) -> None:
    assert checks(reported, good("hip"))["graphs_on_rocm"].passed is True
    maker = good("hip")
    maker.step()
    maker.kernel(5000, correlation=maker.launch(maker.now_ns, 1000, "hipGraphLaunch"))
    maker.now_ns += 5000
    assert checks(reported, maker)["graphs_on_rocm"].passed is False


def test_start_skew(reported: Reporter) -> None:
    maker = good()
    maker.step()
    maker.communicate(700_000)
    found = checks(reported, maker)["start_skew"]
    assert found.passed is False
    assert found.value is not None
    assert 0.52 < found.value < 0.53
    assert "comm.exposed" in found.suppresses
