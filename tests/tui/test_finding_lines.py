"""The findings' panel: what comes first, what is left out, and how much room it gets."""

import msgspec
import pytest

from perftui.ipc.findings import Evidence, Finding, Remedy
from perftui.tui.layout import plan
from perftui.tui.renderables.finding_blocks import finding_text
from perftui.tui.renderables.finding_lines import finding_heights, finding_lines
from perftui.tui.renderables.lines import plain
from perftui.tui.state import DashboardState
from tests.tui import scenes

CONTENDED = Finding(
    code="self.contended",
    severity="warning",
    share=0.0,
    sentence="Other work keeps 1.3 cores busy.",
    evidence=[
        Evidence(name="cores busy with other work", value=1.339, unit="cores", window_steps=0),
        Evidence(name="usable cores", value=2.0, unit="cores", window_steps=0),
    ],
    remedy=Remedy(advice="measure when the host is quiet"),
)


def state_of(*findings: Finding, **changes: object) -> DashboardState:
    view = scenes.starved()
    header = msgspec.structs.replace(view.header, **changes)
    return DashboardState("demo-1", header=header, ranks=tuple(view.ranks), findings=findings, connected=True)


def drawn(state: DashboardState, width: int = 80) -> list[str]:
    return [plain(part).rstrip() for part in finding_lines(state, width)]


def test_the_remedy_and_its_key_come_right_after_the_sentence() -> None:
    lines = drawn(state_of(scenes.WORKERS))
    key = next(index for index, text in enumerate(lines) if text.startswith("  r relaunch with"))
    evidence = next(index for index, text in enumerate(lines) if "workers 0" in text and index != key)
    assert lines[key - 1].endswith("training process.")
    assert key < evidence


def test_the_key_stands_only_where_it_acts() -> None:
    second = msgspec.structs.replace(scenes.WORKERS, code="input.collate")
    assert sum(text.startswith("  r ") for text in drawn(state_of(scenes.WORKERS, second))) == 1
    for changes in ({"replay": True}, {"state": "finished", "exit_code": 0}):
        assert not any(text.startswith("  r ") for text in drawn(state_of(scenes.WORKERS, **changes)))


def test_what_costs_no_known_share_shows_none() -> None:
    lines = drawn(state_of(CONTENDED))
    assert lines[0] == "! self.contended  warning"
    assert lines[-1] == "  cores busy with other work 1.34 · usable cores 2"
    assert drawn(state_of(scenes.WORKERS))[0].endswith("75 % of the step")


def test_figures_of_one_name_stand_together() -> None:
    twice = [
        Evidence(name="loader wait", value=0.75, unit="share", window_steps=50),
        Evidence(name="loader wait", value=491.0, unit="ms", window_steps=50),
    ]
    finding = msgspec.structs.replace(scenes.FINE, evidence=twice)
    assert drawn(state_of(finding))[-1] == "  loader wait 75 %, 491 ms (last 50 steps)"


def test_heights_are_those_of_the_lines() -> None:
    state = state_of(scenes.WORKERS, CONTENDED)
    lead, every = finding_heights(state, 50)
    assert lead == [text.strip() for text in drawn(state, 50)].index("")  # a blank line stands between them
    assert every == len(drawn(state, 50))


@pytest.mark.parametrize("lead", [4, 9, 14, 17, 20, 40])
def test_the_chart_never_cuts_the_leading_finding(lead: int) -> None:
    made = plan(120, 40, 1, findings=(lead, lead + 6))
    assert made.middle == 0 or made.findings - 2 >= lead
    cut = made.findings - 2 < lead + 6
    assert not cut or made.middle in (0, 7)


def test_findings_leave_room_for_some_output_below_them() -> None:
    made = plan(80, 24, 1, findings=(30, 40))
    assert made.bottom - made.findings == 4


def test_when_it_was_first_seen() -> None:
    seen = msgspec.structs.replace(CONTENDED, first_step=1250, first_s=31.4)
    text = " ".join(part.strip() for part in drawn(state_of(seen)))
    assert text.endswith("first seen at step 1,250, after 0:31")
    assert "first seen" not in " ".join(drawn(state_of(CONTENDED)))


def test_what_to_write_in_the_script_stands_below_the_setting_and_advice_below_that() -> None:
    remedy = Remedy(
        set={"loader.num_workers": 2, "env.OMP_NUM_THREADS": "2"}, advice="or less of it", at="a.py:3 f"
    )
    lines = drawn(state_of(msgspec.structs.replace(CONTENDED, remedy=remedy)))
    at = next(index for index, text in enumerate(lines) if text.startswith("  r relaunch with"))
    below = [text.strip() for text in lines[at + 1 :]]
    assert below[:2] == [
        "by hand: DataLoader(..., num_workers=2); export OMP_NUM_THREADS=2",
        "→ or less of it (at a.py:3 f)",
    ]
    silent = msgspec.structs.replace(remedy, advice=None)
    assert "    at a.py:3 f" in drawn(state_of(msgspec.structs.replace(CONTENDED, remedy=silent)))


def test_the_key_that_settles_it_is_named_while_it_does_something() -> None:
    unsure = msgspec.structs.replace(CONTENDED, unsure="a profile window names the lines")
    assert drawn(state_of(unsure))[-1] == "  ○ not sure: a profile window names the lines (p opens one)"
    assert drawn(state_of(unsure, replay=True))[-1].endswith("names the lines")
    longer = msgspec.structs.replace(CONTENDED, unsure="a longer profile window")
    assert drawn(state_of(longer))[-1].endswith("a longer profile window (P asks how many steps)")
    quiet = msgspec.structs.replace(CONTENDED, unsure="a quiet host")
    assert drawn(state_of(quiet))[-1].endswith("a quiet host")


def test_the_line_to_change_is_told_from_the_slow_one() -> None:
    slow, made = "train.py:31 Pictures.__getitem__", "train.py:34 main"
    remedy = Remedy(set={"loader.num_workers": 2, "env.OMP_NUM_THREADS": "2"}, at=slow, made_at=made)
    finding = msgspec.structs.replace(CONTENDED, code="input.workers", remedy=remedy)
    text = [each.strip() for each in drawn(state_of(finding))]
    at = text.index("change: train.py:34 main: DataLoader(..., num_workers=2)")
    assert text[at + 1 : at + 3] == ["by hand: export OMP_NUM_THREADS=2", f"slow: {slow}"]
    assert f"  slow: {slow}\n  change: {made}: DataLoader" in finding_text(finding, state_of(finding))
    advised = msgspec.structs.replace(remedy, set={}, advice="decode less")
    finding = msgspec.structs.replace(finding, remedy=advised)
    told = " ".join(" ".join(drawn(state_of(finding))).split())
    assert f"→ decode less (slow: {slow}, DataLoader: {made})" in told
    assert f"(slow: {slow}, DataLoader: {made})" in finding_text(finding, state_of(finding))
    seeds = msgspec.structs.replace(finding, code="data.worker_seed")
    assert f"(at {slow}, DataLoader: {made})" in finding_text(seeds, state_of(seeds))
