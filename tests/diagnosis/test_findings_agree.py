"""Whatever is measured, findings do not contradict one another and never cost more than the step."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perftui.ipc.findings import Finding
from perftui.ipc.messages import LoaderFacts
from perftui.ipc.settings import format_value, parse_assignment
from perftui.ipc.view import Shares, StepStats
from perftui.trainer.diagnosis import HostSignals, RankSignals, RunSignals, Steadied, diagnose

_unhurried = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
_ORDER = {"critical": 0, "warning": 1, "info": 2}
_share = st.floats(0, 1)
_maybe_share = st.none() | _share
_cores = st.none() | st.floats(0, 256)

_loaders = st.builds(
    LoaderFacts,
    index=st.integers(0, 3),
    num_workers=st.integers(0, 64),
    batch_size=st.none() | st.integers(1, 512),
    prefetch_factor=st.none(),
    persistent_workers=st.booleans(),
    pin_memory=st.booleans(),
    multiprocessing_context=st.none(),
    in_order=st.just(value=True),
    batches_per_epoch=st.none() | st.integers(1, 10_000),
    iterable=st.booleans(),
    dataset=st.just("D"),
    sharded=st.none() | st.booleans(),
)


@st.composite
def _shares(draw: st.DrawFn) -> Shares:
    weights = draw(st.lists(st.floats(0.01, 1), min_size=5, max_size=5))
    wait, forward, backward, optimizer, other = (weight / sum(weights) for weight in weights)
    if draw(st.booleans()):
        return Shares(loader_wait=draw(_maybe_share))
    return Shares(loader_wait=wait, forward=forward, backward=backward, optimizer=optimizer, other=other)


@st.composite
def _ranks(draw: st.DrawFn) -> tuple[RankSignals, ...]:
    common_ms = draw(st.floats(0.1, 5_000))
    ranks: list[RankSignals] = []
    for rank in range(draw(st.integers(0, 5))):
        step_ms = draw(st.just(common_ms) | st.floats(0.1, 5_000))
        ranks.append(
            RankSignals(
                rank=rank,
                host=draw(st.sampled_from(["a", "b"])),
                device=draw(st.sampled_from(["cpu", "cuda:0"])),
                window_steps=draw(st.integers(0, 200)),
                coverage=draw(st.sampled_from([0.5, 1.0])),
                step_ms=StepStats(mean=step_ms, p50=step_ms, p90=step_ms, p99=step_ms),
                shares=(shares := draw(_shares())),
                cpu_share=draw(_maybe_share),
                loader=draw(st.none() | _loaders),
                epoch_start_wait=(shares.loader_wait or 0.0) * draw(_share),
            )
        )
    return tuple(ranks)


_hosts = st.tuples(
    *(
        st.builds(
            HostSignals,
            name=st.just(name),
            cpus=_cores,
            cpu_busy=_cores,
            run_busy=_cores,
            pressure_share=_maybe_share,
            shm_free_mib=_cores,
            cores=_cores,
        )
        for name in ("a", "b")
    )
)
_runs = st.builds(RunSignals, ranks=_ranks(), hosts=_hosts, world_size=st.integers(1, 6))


def _check(findings: list[Finding]) -> None:
    keys = [(finding.code, finding.rank, finding.host) for finding in findings]
    assert len(keys) == len(set(keys))
    codes = {finding.code for finding in findings}
    assert not ("compute.bound" in codes and any(code.startswith(("input.", "rank.")) for code in codes))
    assert all(0 <= finding.share <= 1 for finding in findings)


@_unhurried
@given(_runs)
def test_findings_agree(signals: RunSignals) -> None:
    findings = diagnose(signals)
    _check(findings)
    severities = [_ORDER[finding.severity] for finding in findings]
    assert severities == sorted(severities)
    assert all(finding.under is None or finding.under in codes_of(findings) for finding in findings)
    straggler = [finding for finding in findings if finding.code == "rank.straggler_input"]
    assert len(straggler) <= 1
    if straggler:
        starved = [f for f in findings if f.code.startswith("input.") and f.rank in (None, straggler[0].rank)]
        assert sum(finding.share for finding in [*straggler, *starved]) <= 1 + 1e-9
    for finding in findings:
        remedy = finding.remedy
        if remedy is None:
            continue
        for name, value in remedy.set.items():
            assert parse_assignment(f"{name}={format_value(value)}") == (name, value)
        if remedy.expected is not None and remedy.bound is not None:
            assert remedy.expected <= remedy.bound + 0.01


def codes_of(findings: list[Finding]) -> set[str]:
    return {finding.code for finding in findings}


@_unhurried
@given(st.lists(_runs, max_size=6))
def test_what_is_shown_agrees_too(windows: list[RunSignals]) -> None:
    steadied = Steadied()
    for second, signals in enumerate(windows):
        _check(steadied.update(diagnose(signals), float(second)))
