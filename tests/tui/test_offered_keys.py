"""What the line of keys offers: what the chosen finding has use for, and what leaving means."""

from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot

from perftui.ipc.findings import Finding
from perftui.ipc.worker_stacks import WorkerFrame, WorkerStacks
from perftui.tui.app import DashboardApp
from perftui.tui.renderables.lines import plain
from perftui.tui.renderables.trace_context import TraceContext
from perftui.tui.renderables.trace_tabs import ALL_TABS, TABS, tab_line, tabs_of
from tests.tui import page_scenes, scenes, trace_scenes
from tests.tui.played import LARGE, SMALL, with_app
from tests.tui.screen_text import shown, text, until
from tests.tui.scripted_hub import ScriptedHub

pytestmark = pytest.mark.usefixtures("places")


def _footer(app: DashboardApp) -> str:
    return text(app).splitlines()[-1]


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_a_relaunch_is_offered_only_for_findings_that_propose_one(size: tuple[int, int]) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("f")
        await until(pilot, lambda: "enter relaunch" in _footer(app), "the offer")
        assert "y copy command" in _footer(app)
        assert "p profile" in _footer(app)
        await pilot.press("G")
        await until(pilot, lambda: "enter relaunch" not in _footer(app), "no offer")
        assert "copy command" not in _footer(app)
        assert "p profile" in _footer(app)
        await pilot.press("g")
        await until(pilot, lambda: "enter relaunch" in _footer(app), "the offer again")

    view = msgspec.structs.replace(scenes.starved(), findings=[page_scenes.CAUSE, page_scenes.ADVICE])
    with_app(view, size, play)


def test_leaving_is_said_to_leave_the_training_running() -> None:
    async def live(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await until(pilot, lambda: "q leave running" in _footer(app), "what q does")

    async def over(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await until(pilot, lambda: "q detach" in _footer(app), "what q does")

    with_app(scenes.starved(), LARGE, live)
    with_app(scenes.starved(), (200, 40), live_wide)
    with_app(scenes.ended(), LARGE, over)


async def live_wide(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
    await until(pilot, lambda: "q leave: the training goes on" in _footer(app), "what q does")


def test_a_window_without_a_gpu_has_no_tabs_of_one() -> None:
    report = trace_scenes.on_cpu()
    cpu = trace_scenes.rank_report(
        gpu=None, kernels=[], gaps=[], syncs=[], collectives=[], memcpy=[], kernel_classes=[], launches=None
    )
    context = TraceContext(report=msgspec.structs.replace(report, ranks=[cpu]))
    told = {TABS[at].id for at in tabs_of(context)}
    assert not told & {"kernels", "gaps", "syncs", "communication", "copies", "classes"}
    assert {"operators", "memory", "steps", "workers", "trust", "timeline", "difference"} <= told
    assert "kernels" not in plain(tab_line(0, 200, tabs_of(context)))
    assert tabs_of(TraceContext(report=trace_scenes.report())) == ALL_TABS
    assert tabs_of(TraceContext()) == ALL_TABS


def test_a_collective_of_cpus_keeps_its_tab() -> None:
    collectives = trace_scenes.rank_report().collectives
    assert collectives
    cpu = trace_scenes.rank_report(gpu=None, kernels=[], collectives=collectives)
    context = TraceContext(report=trace_scenes.report(ranks=[cpu]))
    assert "communication" in {TABS[at].id for at in tabs_of(context)}


@pytest.mark.parametrize(
    ("code", "unsure", "tab"),
    [
        ("input.item", "a profile window shows which function of the workers takes the time", "workers"),
        ("sync.each_step", "a profile window names the lines", "operators"),
    ],
)
def test_a_window_that_is_to_tell_of_workers_opens_at_them(
    tmp_path: Path, code: str, unsure: str, tab: str
) -> None:
    lead = Finding(code=code, severity="warning", share=0.4, sentence="It waits.", unsure=unsure)
    frame = WorkerFrame(function="decode_jpeg", file="data.py", line=31, self_share=0.8, total_share=0.9)
    stacks = WorkerStacks(rank=0, pid=7, number=1, samples=40, active_share=0.9, frames=[frame])
    path = str(trace_scenes.written(tmp_path, trace_scenes.report()))
    before = msgspec.structs.replace(
        scenes.PROFILE, window_id="w0", state="done", report_path=path, worker_stacks=[stacks]
    )
    after = msgspec.structs.replace(before, window_id="w1", requested_unix=before.requested_unix + 9)
    view = msgspec.structs.replace(scenes.starved(), findings=[lead], profiles=[before])

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press("p")
        await shown(pilot, "[operators]")
        hub.say(msgspec.structs.replace(view, profiles=[before, after]))
        await shown(pilot, f"[{tab}]")
        await shown(pilot, "window w1")
        await pilot.press("tab")
        await until(pilot, lambda: f"[{tab}]" not in text(app), "the next tab")

    with_app(view, LARGE, play)


@pytest.mark.parametrize(
    ("page", "first"),
    [("f", "keys on the findings"), ("e", "keys on the ledger"), ("m", "keys on ranks over time")],
)
def test_the_help_begins_with_the_keys_of_the_page_at_hand(page: str, first: str) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press(page, "question_mark")
        await shown(pilot, first)
        assert first in text(app).splitlines()[1]

    with_app(page_scenes.pages(), SMALL, play)


@pytest.mark.parametrize("pressed", [(), ("f",), ("w",)])
def test_one_key_leads_from_the_help_to_its_words(pressed: tuple[str, ...]) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.press(*pressed, "question_mark")
        await until(pilot, lambda: "w words" in _footer(app), "the key")
        await pilot.press("w")
        await shown(pilot, "words of a profile" if pressed == ("w",) else "where a step goes")
        assert not any("keys on" in part for part in text(app).splitlines()[:4])

    with_app(scenes.starved(), SMALL, play)
