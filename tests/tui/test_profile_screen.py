"""The profile of a live run: its windows, their reports, the difference of two, also across a relaunch."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot

from perftui.ipc.view import ProfileView, RunView
from perftui.ipc.worker_stacks import WorkerFrame, WorkerStacks
from perftui.tui.app import DashboardApp
from perftui.tui.glyphs import Glyphs
from tests.tui import scenes, trace_scenes
from tests.tui.screen_text import shown, text, until
from tests.tui.scripted_hub import ScriptedHub

pytestmark = pytest.mark.usefixtures("places")
FASTER = trace_scenes.rank_report(kernels=[trace_scenes.kernel(trace_scenes.GEMM, "gemm", 12_000.0)])


def window(name: str, path: Path | None, at: float = 0.0, **changes: object) -> ProfileView:
    """A window of the scenes, with a report."""
    report_path = str(path) if path else None
    return msgspec.structs.replace(
        scenes.PROFILE,
        window_id=name,
        requested_unix=1_700_000_260.0 + at,
        report_path=report_path,
        **changes,
    )


def with_windows(
    windows: list[ProfileView], play: Callable[[DashboardApp, Pilot[None], ScriptedHub], Awaitable[None]]
) -> None:
    """Show the profile of a run that has these windows."""

    async def scene() -> None:
        view: RunView = msgspec.structs.replace(scenes.starved(), profiles=windows)
        with ScriptedHub("demo-1", view) as hub:
            app = DashboardApp("demo-1", Glyphs())
            async with app.run_test(size=(120, 40), notifications=True) as pilot:
                await until(pilot, lambda: app.live.header is not None, "the first update")
                await pilot.press("w")
                await play(app, pilot, hub)

    asyncio.run(scene())


def test_a_window_shows_its_report_and_what_the_hub_knows_beside_it(tmp_path: Path) -> None:
    frame = WorkerFrame(function="decode_jpeg", file="data.py", line=31, self_share=0.8, total_share=0.9)
    stacks = WorkerStacks(
        rank=0, pid=77, number=1, samples=40, active_share=0.9,
        frames=[frame],
    )  # fmt: skip
    path = trace_scenes.written(tmp_path, trace_scenes.report())
    view = window("w1", path, worker_stacks=[stacks], window_notes=["rank 3 was busy"])

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "◆ The GPU is idle 45 % of the time")
        await shown(pilot, "window w1 · steps 421 to 423 · rank 0 · NVIDIA H200")
        await pilot.press(*["tab"] * 10)
        await shown(pilot, "decode_jpeg")
        await pilot.press("tab")
        await shown(pilot, "88.0 ms")
        await pilot.press("tab")
        await shown(pilot, "rank 3 was busy")
        await pilot.press("escape")
        await shown(pilot, "findings 1")

    with_windows([view], play)


def test_a_report_that_comes_later_takes_the_place_of_the_hubs_words(tmp_path: Path) -> None:
    path = trace_scenes.written(tmp_path, trace_scenes.report())

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "reading the traces")
        done = msgspec.structs.replace(scenes.starved(), profiles=[window("w1", path)])
        hub.say(done)
        await shown(pilot, "◆ The GPU is idle 45 % of the time")

    with_windows([window("w1", None, state="analysing", ranks=[])], play)


def test_older_and_newer_windows_and_what_changed_between_them(tmp_path: Path) -> None:
    first = trace_scenes.written(tmp_path / "1", trace_scenes.report())
    second = trace_scenes.written(tmp_path / "2", trace_scenes.report(sentence="Faster.", ranks=[FASTER]))

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "◆ Faster.")
        await pilot.press("d")
        await shown(pilot, "since window w1")
        await shown(pilot, "−4.00 ms")
        await pilot.press("shift+tab", "left_square_bracket")
        await shown(pilot, "◆ The GPU is idle")
        await pilot.press("d")
        await shown(pilot, "there is no window before this one")
        await pilot.press("shift+tab", "right_square_bracket")
        await shown(pilot, "◆ Faster.")
        await pilot.press("m", "left_square_bracket", "d")
        await shown(pilot, "since window w2")
        await shown(pilot, "+4.00 ms")

    with_windows([window("w1", first), window("w2", second, 60.0)], play)


def test_a_window_of_the_run_before_is_compared_with_after_a_relaunch(tmp_path: Path) -> None:
    first = trace_scenes.written(tmp_path / "1", trace_scenes.report())
    second = trace_scenes.written(tmp_path / "2", trace_scenes.report(sentence="Faster.", ranks=[FASTER]))
    header = scenes.header(run_id="demo-2", name="second")
    after = msgspec.structs.replace(scenes.fine(), header=header, profiles=[window("w9", second)])

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "◆ The GPU is idle")
        with ScriptedHub("demo-2", after):
            gone = scenes.header(state="stopped", successor="demo-2", exit_code=-15)
            hub.say(msgspec.structs.replace(scenes.decided(), header=gone))
            await shown(pilot, "◆ Faster.")
            await pilot.press("d")
            await shown(pilot, "since window w1")
            await shown(pilot, "−4.00 ms")

    with_windows([window("w1", first)], play)


def test_a_report_that_is_gone_leaves_what_the_hub_knows(tmp_path: Path) -> None:
    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await shown(pilot, "the report cannot be read")
        screen = await shown(pilot, "_SingleProcessDataLoaderIter.__next__")
        assert "Loading takes 74 %" in screen

    with_windows([window("w1", tmp_path / "gone.json")], play)


def test_the_footer_of_a_profile_fits_into_80_columns(tmp_path: Path) -> None:
    path = trace_scenes.written(tmp_path, trace_scenes.report())

    async def play(app: DashboardApp, pilot: Pilot[None], hub: ScriptedHub) -> None:
        await pilot.resize_terminal(80, 24)
        await shown(pilot, "aten::addmm")
        await until(pilot, lambda: text(app).splitlines()[-1].endswith("? help"), "the last key of tables")
        await pilot.press("t")
        await shown(pilot, "GPU 0 stream 7")
        keys_shown = ("←→ go", "? help")
        await until(pilot, lambda: all(key in text(app).splitlines()[-1] for key in keys_shown), "its keys")

    with_windows([window("w1", path)], play)
