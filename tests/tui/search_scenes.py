"""A search for faster settings at several moments, made up."""

import msgspec

from perftui.ipc.ledger_records import Launch, Verdict
from perftui.ipc.search_view import SearchAside, SearchTrial, SearchView
from perftui.ipc.view import LaunchProgress

_COMMAND = ["python", "train.py", "--batch-size", "16"]


def _launch(label: str, step_ms: float, **settings: int | bool) -> Launch:
    return Launch(
        run_id=f"trial-{label}-{step_ms:g}",
        label="A" if label == "A" else "B",
        settings=dict(settings),
        outcome="stopped",
        steps=180,
        step_ms=step_ms,
        log_step_s=-2.0,
        se=0.004,
        samples_per_s=16_000 / step_ms,
        startup_s=2.6,
        loss=2.31,
        foreign_cores=0.1,
    )


_WORKERS_2 = SearchTrial(
    comparison_id="c-1",
    purpose="trial",
    set={"loader.num_workers": 2},
    before={"loader.num_workers": 0},
    finding="input.workers",
    semantics="neutral",
    bound=4.4,
    expected=2.1,
    launches=[_launch("A", 142.0), _launch("B", 70.3)],
    verdict=Verdict(
        verdict="faster",
        sentence="2.02 times as fast (+102 %, 98 % interval +96 to +108 %), 2 launches, 360 steps",
        gain=1.02,
        lo=0.96,
        hi=1.08,
        launches=2,
        steps=360,
    ),
    kept=True,
    step_ms=70.3,
)
_PINNED = SearchTrial(
    comparison_id="c-2",
    purpose="trial",
    set={"loader.pin_memory": True},
    before={"loader.pin_memory": False},
    finding="input.workers",
    semantics="neutral",
    expected=1.05,
    launches=[_launch("A", 70.3), _launch("B", 71.0)],
    verdict=Verdict(
        verdict="same",
        sentence="the same within 2 % (−1 %, 98 % interval −2 to +1 %)",
        gain=-0.01,
        lo=-0.02,
        hi=0.012,
        launches=2,
        steps=360,
    ),
    step_ms=71.0,
)
_WORKERS_4 = msgspec.structs.replace(
    _WORKERS_2,
    comparison_id="c-3",
    set={"loader.num_workers": 4},
    before={"loader.num_workers": 2},
    bound=1.6,
    expected=1.3,
    launches=[_launch("A", 70.9)],
    verdict=None,
    kept=False,
    step_ms=None,
)
_ASIDE = [
    SearchAside(
        set={"loader.prefetch_factor": 4},
        finding="input.workers",
        semantics="neutral",
        expected=1.04,
        reason="its turn has not come",
        waits=True,
    ),
    SearchAside(
        set={"precision.autocast": "bf16"},
        finding="compute.precision",
        semantics="numeric",
        bound=1.9,
        expected=1.5,
        reason="needs --allow numeric: it rounds otherwise",
    ),
]
GOING_ON = SearchView(
    search_id="tune-resnet18-1a2b",
    unix=1_764_500_000.0,
    name="resnet18",
    host="vm",
    command=_COMMAND,
    allow="neutral",
    most_trials=10,
    most_launches=4,
    goes_on=True,
    baseline=[_launch("A", 142.0)],
    step_ms=142.0,
    samples_per_s=112.7,
    trials=[_WORKERS_2, _PINNED],
    now=_WORKERS_4,
    launch=LaunchProgress(label="B", state="measuring", steps=121, step_ms=61.4),
    aside=_ASIDE,
    changed={"loader.num_workers": 2},
    run=["perftui", "run", "--set", "loader.num_workers=2", "--", *_COMMAND],
    write=["DataLoader(…, num_workers=2)"],
)
ENDED = msgspec.structs.replace(
    GOING_ON,
    goes_on=False,
    now=None,
    launch=None,
    aside=[msgspec.structs.replace(each, waits=False) for each in _ASIDE],
    final=msgspec.structs.replace(
        _WORKERS_2, comparison_id="c-4", purpose="final", finding="final", expected=None, bound=None
    ),
    reason="nothing_left",
    sentence="loader.num_workers 2: 2.02 times as fast (+102 %, 98 % interval +96 to +108 %), 2 launches, "
    "360 steps; the arithmetic is the same.",
)
BROKEN_OFF = msgspec.structs.replace(GOING_ON, goes_on=False, launch=None)
