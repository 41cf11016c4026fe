"""The demonstrations: which there are, how they refuse, what the story says."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from perftui.ipc.findings import Evidence, Finding, Remedy
from perftui.ipc.ledger_records import Verdict
from perftui.ipc.view import RankView, Shares, StepStats
from perftui.trainer.launch.demo_stage import DEMOS, demo_spec
from perftui.trainer.launch.demo_story import Story, interval, rank_line

WITHOUT_TORCH = """
import sys
for name in ("torch", "torchvision"):
    sys.modules[name] = None
from perftui.tui.cli import main
sys.exit(main(["demo", "--no-tui"]))
"""


def _perftui(*words: str) -> "subprocess.CompletedProcess[str]":
    program = "import sys; from perftui.tui.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )


def test_list_names_every_demo() -> None:
    done = _perftui("demo", "--list")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(DEMOS)


def test_unknown_demo_names_the_known_ones() -> None:
    done = _perftui("demo", "none")
    assert done.returncode == 2
    assert done.stderr == f"perftui: no demo 'none'; there are: {', '.join(DEMOS)}\n"


def test_without_torch_one_line_says_how_to_get_it() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr.startswith("perftui: the demo needs torch and torchvision: ")
    assert "-m pip install torch==" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", DEMOS)
def test_every_demo_is_a_script_that_takes_its_arguments(name: str) -> None:
    pytest.importorskip("torchvision")
    command: Sequence[str] = demo_spec(name, "log").command
    script = next(word for word in command if word.endswith(".py"))
    assert "perftui" not in Path(script).read_text()
    done = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--epochs" in done.stdout


def _finding() -> Finding:
    return Finding(
        code="input.workers",
        severity="critical",
        share=0.75,
        sentence="It waits.",
        evidence=[
            Evidence(name="loader wait", value=0.75, unit="share", window_steps=50),
            Evidence(name="loader workers", value=0.0, unit="", window_steps=50),
        ],
        remedy=Remedy(set={"loader.num_workers": 2}, bound=4.0, expected=1.8),
    )


def test_the_story_tells_cause_change_and_verdict() -> None:
    lines: list[str] = []
    story = Story(lines.append)
    story.cause(_finding())
    story.change(_finding())
    story.verdict(
        Verdict(verdict="faster", sentence="B is faster.", gain=0.5, lo=0.4, hi=0.62, launches=4), None
    )
    story.cause(None)
    story.verdict(None, "it broke")
    told = [line.split("] ", 1)[1].rstrip("\n") for line in lines]
    assert told == [
        "cause     input.workers (critical): It waits.",
        "evidence  loader wait 75 %; loader workers 0",
        "change    loader.num_workers=2 (neutral, expected 1.80x, at most 4.00x)",
        "verdict   faster: +50.0 % steps per second (98 % interval +40.0 % to +62.0 %)",
        "          B is faster.",
        "cause     none was named in the time of a demonstration",
        "verdict   none: it broke",
    ]


def test_advice_stands_in_for_a_setting() -> None:
    lines: list[str] = []
    advice = Finding(
        code="c", severity="info", share=0.0, sentence="s", remedy=Remedy(advice="wait for quiet")
    )
    Story(lines.append).change(advice)
    assert lines[0].endswith("change    no setting to try; wait for quiet\n")


def test_what_was_not_measured_is_left_out() -> None:
    rank = RankView(
        rank=1, host="h", pid=1, state="training", age_s=0.0, device="cpu", gpu_uuid=None,
        world_size=2, steps=3, epoch=0, boundary="optimizer", window_steps=0,
    )  # fmt: skip
    assert rank_line(rank) == "rank 1, step 3: no step measured yet"
    assert interval(Verdict(verdict="failed", sentence="s")) == ""
    measured = RankView(
        rank=1, host="h", pid=1, state="training", age_s=0.0, device="cpu", gpu_uuid=None,
        world_size=2, steps=3, epoch=0, boundary="optimizer", window_steps=3,
        step_ms=StepStats(mean=180.4, p50=180, p90=190, p99=200), shares=Shares(loader_wait=0.746),
        samples_per_s=88.7,
    )  # fmt: skip
    assert (
        rank_line(measured)
        == "rank 1, step 3: 180 ms a step, 75 % of it waiting for the loader, 89 samples/s"
    )
