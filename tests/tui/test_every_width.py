"""Everything that is drawn for a width is drawn at each from 1 cell on, early and late in a run.

What is drawn is found by its signature: a new picture is held against this from its first day.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import get_type_hints

import msgspec
import pytest

from perftui.ipc.dashboard_messages import Update
from perftui.ipc.findings import Finding, Remedy
from perftui.ipc.gpu_view import GpuView
from perftui.ipc.host_view import HostView, LoaderWorkers, WorkerView
from perftui.ipc.ledger_records import Comparison, Launch, Verdict
from perftui.ipc.rank_map import RankMap
from perftui.ipc.search_view import SearchTrial, SearchView
from perftui.ipc.settings import SettingValue
from perftui.ipc.step_history import StepHistory
from perftui.ipc.trace_report import IdleGap, KernelFigures, OperatorFigures, SyncFigures
from perftui.ipc.view import DeviceView, Mark, ProfileView, RankView, RelaunchView, Shares
from perftui.trainer.hub.rank_blocks import rank_map
from perftui.trainer.hub.step_blocks import step_history
from perftui.trainer.hub.step_lanes import with_lanes
from perftui.tui import renderables
from perftui.tui.renderables.chart_parts import LABEL, ChartMark
from perftui.tui.renderables.figure_grid import Figure
from perftui.tui.renderables.history_chart import Points
from perftui.tui.renderables.interval_plot import Axis
from perftui.tui.renderables.ledger_columns import LedgerOrder
from perftui.tui.renderables.lines import Line, Run, line, plain, width_of
from perftui.tui.renderables.output_lines import TOP, Place
from perftui.tui.renderables.rank_card import RankPicture
from perftui.tui.renderables.rank_heat import columns_for, heat_axis
from perftui.tui.renderables.rank_sheet import RankSheet, Room
from perftui.tui.renderables.stacked_bar import Part
from perftui.tui.renderables.timeline_index import Span, TimelineIndex, TrackLine, timeline_index
from perftui.tui.renderables.timeline_view import TimeView, first_view
from perftui.tui.renderables.trace_context import TraceContext
from perftui.tui.renderables.trace_table import AnyTable
from perftui.tui.renderables.trace_tabs import TABS
from perftui.tui.renderables.trace_window import RankRow, TrustRow, rank_rows, trust_rows
from perftui.tui.state import DashboardState, Track, apply
from perftui.tui.window_choice import WindowChoice, first_choice
from tests.tui import page_scenes, scenes, search_scenes, trace_scenes

STEPS = (0, 99, 100_000, 40_000_000)
WIDTHS = range(1, 61)
Renderable = Callable[..., object]


def _is_drawn_for_a_width(function: Renderable) -> bool:
    hints = get_type_hints(function)
    return hints.get("width") is int or hints.get("cells") is int or hints.get("room") is Room


def _found() -> Mapping[str, Renderable]:
    """All that is drawn for a width, by module and name."""
    modules = [
        importlib.import_module(f"{renderables.__name__}.{module.name}")
        for module in pkgutil.iter_modules(renderables.__path__)
    ]
    return {
        f"{module.__name__.rpartition('.')[2]}.{name}": function
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and not name.startswith("_")
        and not name.endswith("_column")  # these say how a column of a table is, for any width
        and _is_drawn_for_a_width(function)
    }


RENDERABLES = _found()


@cache
def _history(step: int) -> StepHistory:
    """The newest steps of a rank that has done `step` of them before."""
    made = step_history(page_scenes.LOG, 0, 0, None, 60)
    assert made is not None
    laned = with_lanes(made, page_scenes.TRACK, page_scenes.READINGS)
    return msgspec.structs.replace(
        laned, first_step=max(0, step - laned.last_step), last_step=step, newest_step=step
    )


@cache
def _map(step: int) -> RankMap:
    made = rank_map(page_scenes.LOGS, 0, None, 60, 4, "before")
    assert made is not None
    return msgspec.structs.replace(
        made, first_step=max(0, step - made.last_step), last_step=step, newest_step=step
    )


@cache
def _view(step: int) -> RankView:
    return msgspec.structs.replace(page_scenes.pages().ranks[0], steps=step, losses=[(step, 2.31)])


@cache
def _state(step: int) -> DashboardState:
    view = page_scenes.pages()
    told = msgspec.structs.replace(
        view,
        header=msgspec.structs.replace(view.header, step=step),
        ranks=[msgspec.structs.replace(each, steps=step) for each in view.ranks],
        relaunch=scenes.RELAUNCH,
        profiles=[scenes.PROFILE],
    )
    update = Update(
        number=1,
        snapshot=True,
        view=told,
        history=[scenes.history(0, 50, step)],
        marks=[Mark(unix=0.0, rank=None, event="epoch", text="epoch", step=step)],
        unjudged=page_scenes.UNJUDGED,
    )
    return apply(DashboardState(run_id="demo-1"), update)


@cache
def _track(step: int) -> Track:
    return Track(tuple(range(step, step + 50)), (100.0,) * 50, (50.0,) * 50, (0,) * 50)


INDEX = timeline_index(trace_scenes.timeline())
CONTEXT = TraceContext(report=trace_scenes.two_ranks(), view=scenes.PROFILE, timeline=INDEX)
TRACE = trace_scenes.rank_report()
TEXT = "16 loader workers on 7 cores: they take the cores from each other, in 93 % of the steps"
BY_TYPE: Mapping[object, Callable[[int], object]] = {
    DashboardState: _state,
    StepHistory: _history,
    StepHistory | None: _history,
    RankMap: _map,
    RankView: _view,
    Sequence[RankView]: lambda step: [_view(step)],
    RankPicture: lambda step: RankPicture(_view(step), _track(step), scenes.gpu(0)),
    RankSheet: lambda step: RankSheet(
        _view(step), _history(step), [ChartMark(step, "epoch")], scenes.gpu(0), page_scenes.HOST
    ),
    Points: lambda step: Points(_track(step).step, _track(step).wall_ms, _track(step).wait_ms),
    Sequence[ChartMark]: lambda step: [ChartMark(step, "epoch")],
    Finding: lambda _: page_scenes.CAUSE,
    Remedy: lambda _: page_scenes.CAUSE.remedy,
    GpuView: lambda _: scenes.gpu(0),
    HostView: lambda _: page_scenes.HOST,
    Sequence[WorkerView]: lambda _: page_scenes.HOST.workers,
    LoaderWorkers: lambda _: page_scenes.pages().ranks[0].workers,
    DeviceView: lambda _: scenes.DEVICE,
    Shares: lambda _: scenes.STARVED,
    RelaunchView: lambda _: scenes.RELAUNCH,
    Verdict: lambda _: scenes.VERDICT,
    Comparison: lambda _: page_scenes.COMPARISONS[0],
    Sequence[Comparison]: lambda _: page_scenes.COMPARISONS,
    Sequence[Launch]: lambda _: page_scenes.COMPARISONS[0].launches,
    LedgerOrder: lambda _: LedgerOrder(),
    frozenset[str]: lambda _: frozenset(each.comparison_id for each in page_scenes.COMPARISONS),
    SearchView: lambda _: search_scenes.GOING_ON,
    SearchView | None: lambda _: search_scenes.GOING_ON,
    SearchTrial: lambda _: search_scenes.GOING_ON.trials[0],
    ProfileView | None: lambda _: scenes.PROFILE,
    WindowChoice: lambda _: first_choice([0, 1], 0),
    Mapping[str, SettingValue]: lambda _: {"loader.num_workers": 4},
    TimelineIndex: lambda _: INDEX,
    TimeView: lambda _: first_view(INDEX),
    Span: lambda _: Span(0, 0),
    TraceContext: lambda _: CONTEXT,
    RankRow: lambda _: rank_rows(CONTEXT)[0],
    TrustRow: lambda _: trust_rows(CONTEXT)[0],
    IdleGap: lambda _: trace_scenes.GAPS[0],
    KernelFigures: lambda _: TRACE.kernels[0],
    OperatorFigures: lambda _: trace_scenes.LINEAR,
    SyncFigures: lambda _: TRACE.syncs[0],
    Sequence[Figure]: lambda _: [Figure("SM", "50 %"), Figure("power", None, "power_w")],
    Mapping[str, float] | None: lambda _: {"training": 63.0, "validation": 37.0},
    Mapping[str, str]: lambda _: {"power_w": "the driver does not tell"},
    Axis: lambda _: Axis(-2.0, 8.0),
    tuple[float, float, float] | None: lambda _: (1.0, 2.0, 3.0),
    Sequence[Part]: lambda _: [Part("forward", "f", "fwd", "forward", 0.5)] * 2,
    Line: lambda _: line(Run(TEXT)),
    Sequence[Line]: lambda _: [line(Run(TEXT))] * 3,
    Place: lambda _: TOP,
    Sequence[float]: lambda _: [1.0, 2.0, 3.0],
    Sequence[float | None]: lambda _: [1.0, None, 0.5],
    float | None: lambda _: 0.4,
    Sequence[str]: lambda step: [TEXT, f"step {step}"],
    Sequence[int]: lambda step: [max(0, step - 1), step],
    int | None: lambda _: 0,
    str: lambda _: TEXT,
    bool: lambda _: True,
    TrackLine: lambda _: INDEX.lines[0],
    AnyTable: lambda _: TABS[0].table(CONTEXT) if TABS[0].table else None,
}
BY_NAME: Mapping[str, Callable[[int], object]] = {
    "height": lambda _: 8,
    "rows": lambda _: 2,
    "most": lambda _: 3,
    "lines": lambda _: 2,
    "at": lambda _: 0,
    "steps": lambda _: 1,
    "last_step": lambda step: step,
    "per_cell": lambda _: 1,
    "span_ns": lambda _: 40_000,
    "of": lambda _: "step",  # a group of lanes
    **dict.fromkeys(("first", "top", "start", "chosen", "x", "sort", "time_ns"), lambda _: 0),
}


def _arguments(function: Renderable, step: int, width: int) -> dict[str, object]:
    """One of each kind; what has a default keeps it, but for marks of a chart."""
    hints = get_type_hints(function)
    given: dict[str, object] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kind = hints[name]
        if kind is Room:
            given[name] = Room(width, 12)
        elif name in ("width", "cells") and kind is int:
            given[name] = width
        elif parameter.default is parameter.empty or name == "marks":
            given[name] = (
                BY_NAME[name](step) if kind in (int, str) and name in BY_NAME else BY_TYPE[kind](step)
            )
    return given


@pytest.mark.parametrize("name", sorted(RENDERABLES))
def test_it_is_drawn_at_every_width(name: str) -> None:
    for step in STEPS:
        for width in WIDTHS:
            RENDERABLES[name](**_arguments(RENDERABLES[name], step, width))


@pytest.mark.parametrize("step", STEPS)
def test_an_axis_has_the_width_of_its_chart_and_no_half_number(step: int) -> None:
    for width in WIDTHS:
        drawn = heat_axis(_map(step), width, [ChartMark(step, "epoch")])
        assert width_of(drawn) == LABEL + columns_for(width)
        numbers = [word for word in plain(drawn)[LABEL:].split() if word[0].isdigit()]
        assert set(numbers) <= {f"{max(0, step - 411):,}", f"{step:,}"}
