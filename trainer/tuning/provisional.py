"""A switch without trials: the run as it was against the run that replaces it, one launch each.

One launch of each cannot tell a small gain from the launch, and they are of different age; so the verdict is
`provisional` whatever the figures say.
"""

import socket
import time
from collections.abc import Callable, Sequence

from perftui.ipc.ledger_records import BROKEN, Launch, Verdict
from perftui.ipc.places import RunPlaces
from perftui.ipc.settings import Settings
from perftui.trainer.launch.start import wait_for_exit
from perftui.trainer.tuning.collector import Collector
from perftui.trainer.tuning.enough import assess
from perftui.trainer.tuning.judge import failed_verdict, points_of
from perftui.trainer.tuning.measure import Follower, Progress
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.regression import Noise, compare
from perftui.trainer.tuning.stalls import contradicts, plain_gain, stalls_words
from perftui.trainer.tuning.steady import block_length
from perftui.trainer.tuning.subject import Subject
from perftui.trainer.tuning.trials import Trial, launch_of
from perftui.trainer.tuning.wording import counts_words, fraction_of, interval_words
from perftui.trainer.tuning.work_of_steps import unit_of

_RECORDED_WITHIN_S = 10.0
"""Its hub may see the end before its keeper has written it down."""


def measure_before(subject: Subject, se_wanted: float, caps: Caps) -> Trial | None:
    """Return the live run's own steps as launch A; None when there are too few."""
    if subject.live is None or subject.run_id is None:
        return None
    collector = Collector()
    collector.take(subject.live)
    steps_s = collector.steps_s()
    found = assess(steps_s, block_length(collector.num_workers()), se_wanted, caps)
    if found.estimate is None:
        return None
    steady_s = steps_s[found.warm_steps :]
    launch = Launch(
        run_id=subject.run_id,
        label="A",
        settings=subject.before,
        outcome="stopped",
        steps=found.steady_steps,
        warm_steps=found.warm_steps,
        log_step_s=found.estimate.log_step_s,
        se=found.estimate.se,
        df=found.estimate.df,
        se_wanted=se_wanted,
        step_ms=1000 * sum(steady_s) / len(steady_s),
        samples_per_s=collector.samples_per_s(),
        host=socket.gethostname(),
        gpu_uuids=sorted({rank.gpu_uuid for rank in collector.ranks.values() if rank.gpu_uuid}),
        effective=collector.effective(),
        load_1m=collector.load_1m,
        note="the live run, before it was stopped",
        started_unix=subject.live.view.header.started_unix,
        settled=found.settled,
        samples_per_step=collector.samples_per_step(),
        tokens_per_step=collector.tokens_per_step(),
        circumstances=collector.circumstances(),
    )
    return Trial(launch, steps_s)


def measure_switch(
    places: RunPlaces,
    settings: Settings,
    se_wanted: float,
    caps: Caps,
    progress: Progress,
    cancelled: Callable[[], bool],
) -> Trial:
    """Follow the run that replaces the old one, as launch B; it is not stopped."""
    began = time.time()
    followed = Follower(places, settings, se_wanted, caps, progress, cancelled).follow()
    record = wait_for_exit(places, _RECORDED_WITHIN_S if followed.over else 0.0)
    launch = launch_of("B", places.run_id, settings, followed, record, 0.0, began)
    refused = followed.collector.why_not_applied(settings, final=False)
    early = followed.over and followed.end == "failed" and launch.outcome not in BROKEN and refused is None
    return Trial(launch, followed.steps_s, followed.collector.losses, followed.end == "cancelled", early)


def provisional_verdict(trials: Sequence[Trial], noise: Noise, semantics: str = "neutral") -> Verdict:
    """Return the verdict of a switch: provisional, or failed when the change did not work.

    A run that ended as it should, or that its user stopped, has not failed.

    Args:
        trials: the run as it was, if it was measured, and the one that replaced it.
        noise: what is known of the host.
        semantics: of the change.
    """
    launches = [trial.launch for trial in trials]
    after = trials[-1]
    if after.ended_early:
        return Verdict(
            verdict="provisional",
            sentence=f"switched without trials; it ended too early to compare: {after.launch.note}",
            launches=len(launches),
        )
    if after.launch.log_step_s is None and not after.cancelled:
        return failed_verdict(f"the run with the change could not be measured: {after.launch.note}", launches)
    points = points_of(launches, semantics)
    if {point.label for point in points} != {"A", "B"}:
        return Verdict(
            verdict="provisional",
            sentence="switched without trials; not measured long enough before and after to compare",
            launches=len(launches),
        )
    effect = compare(points, noise)
    told = f"{interval_words(effect)}, {counts_words(launches)}"
    per = unit_of(launches, semantics)
    if contradicts(plain_gain(launches, per), "faster" if effect.log_gain > 0 else "slower", effect.log_gain):
        told += f"; {stalls_words(launches, per)}"
    return Verdict(
        verdict="provisional",
        sentence=f"switched without trials; from one launch each: {told}",
        gain=fraction_of(effect.log_gain),
        lo=fraction_of(effect.lo),
        hi=fraction_of(effect.hi),
        launches=len(launches),
        steps=sum(launch.steps for launch in launches),
    )
