"""Carries a search out: asks for the next move, does it, and writes it to the ledger before the next one.

Whatever ends this process, at any moment, the ledger has all that was measured, and the trial ends with it.
"""

import math
import secrets
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from perftui.ipc.ledger_records import Comparison, Verdict
from perftui.ipc.places import RunPlaces, ledger_path
from perftui.ipc.search_records import (
    Begun,
    Ended,
    Judged,
    Measured,
    Picture,
    SearchEntry,
    SearchPlan,
    Sitting,
    StopReason,
)
from perftui.ipc.settings import semantics_of
from perftui.trainer.telemetry.host import effective_cpus
from perftui.trainer.tuning.collector import Collector
from perftui.trainer.tuning.enough import wanted_se
from perftui.trainer.tuning.gpu_rest import GpuRest
from perftui.trainer.tuning.judge import failed_verdict, judge
from perftui.trainer.tuning.loss_check import NOT_COMPARABLE, check_losses
from perftui.trainer.tuning.measure import Followed, Progress
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.program import with_program
from perftui.trainer.tuning.reach import Prospect
from perftui.trainer.tuning.regression import Label, Noise
from perftui.trainer.tuning.search.calibration import HISTORY, calibration_of
from perftui.trainer.tuning.search.ending import end_sentence
from perftui.trainer.tuning.search.next_move import (
    BeginMove,
    JudgeMove,
    Known,
    LaunchMove,
    StopMove,
    next_move,
)
from perftui.trainer.tuning.search.observe import observe, picture_of
from perftui.trainer.tuning.search.promise import promised_se
from perftui.trainer.tuning.search.proposals import Choice
from perftui.trainer.tuning.search.search_ledger import open_search_ledger
from perftui.trainer.tuning.search.state import Experiment, SearchState, advance, same_program
from perftui.trainer.tuning.subject import Subject
from perftui.trainer.tuning.trials import Conditions, Trial, run_trial

_STEPS_OF_A_LAUNCH = 300
"""What is not known to 2 % after so many steps hardly ever is after twice as many; and the time for so many
steps like the original's is enough for a change that halves the speed."""
_FEWEST_CAP_S = 30.0
_MOST_CAP_S = 600.0

Tell = Callable[[SearchState, SearchEntry], None]


class Search:
    """One sitting of a search.

    Args:
        state: what is known so far.
        sitting: how far this one may go.
        tell: told of each entry, with the state after it.
        progress: told of the launch that goes on: its label, its settings' place, and how it stands.
        cancelled: asked often; when it says yes, the launch is stopped and the search ends.
        say: told what else there is to know, in one line.
        caps: how long the launches may take; None: by the step time of the original.
    """

    def __init__(
        self,
        state: SearchState,
        sitting: Sitting,
        tell: Tell,
        progress: Callable[[SearchState, LaunchMove], Progress],
        cancelled: Callable[[], bool],
        say: Callable[[str], None],
        caps: Caps | None = None,
    ) -> None:
        self.state, self._sitting = state, sitting
        self._tell, self._progress, self._cancelled, self._say = tell, progress, cancelled, say
        self._caps = caps
        self._began = time.monotonic()
        self._cpus = effective_cpus()
        self._subject = subject_of(state.plan)
        self._gpu_rest = GpuRest(state.plan.host)
        self.choice = Choice((), ())
        """What was not tried, once it has ended."""

    def run(self) -> SearchState:
        """Search until there is a reason to stop, and return the state then.

        Raises:
            PerftuiError: a trial could not be stopped, or the ledger cannot be written.
        """
        self._add(self._sitting)
        while True:
            move = next_move(self.state, self._known())
            if isinstance(move, StopMove):
                self.choice = move.choice
                self._end(move.reason)
                return self.state
            if isinstance(move, BeginMove):
                begun = Begun(
                    comparison_id=secrets.token_hex(6), purpose=move.purpose, proposal=move.proposal
                )
                self._add(begun)
            elif isinstance(move, JudgeMove):
                self._judge()
            else:
                self._launch(move)
            broken_off = self._broken_off()
            if broken_off is not None:
                self._end(broken_off)
                return self.state

    def _end(self, reason: StopReason) -> None:
        self._add(Ended(reason=reason, sentence=end_sentence(self.state, reason, self.choice)))

    def _broken_off(self) -> StopReason | None:
        """Say why a launch must not go on, whatever it has measured; None: it may."""
        if self._cancelled():
            return "interrupted"
        minutes = self._sitting.most_minutes
        if minutes is not None and time.monotonic() - self._began > 60 * minutes:
            return "out_of_time"
        return None

    def _known(self) -> Known:
        with open_search_ledger(ledger_path()) as ledger:
            calibration = calibration_of(ledger.newest(HISTORY, self.state.plan.host))
        return Known(self._noise(), self._cpus, time.monotonic() - self._began, calibration)

    def _noise(self) -> Noise:
        with open_search_ledger(ledger_path()) as ledger:
            return ledger.noise(self.state.plan.host, self.state.plan.command)

    def _add(self, entry: SearchEntry) -> None:
        with open_search_ledger(ledger_path()) as ledger:
            ledger.add_entry(self.state.plan.search_id, entry)
        self._advance(entry)

    def _advance(self, entry: SearchEntry) -> None:
        self.state = advance(self.state, entry)
        self._tell(self.state, entry)

    def _launch(self, move: LaunchMove) -> None:
        """Launch and measure; what is broken off leaves no entry."""
        began = time.monotonic()
        self._wait_for_gpus()
        if self._over() or self._begins_anew():
            return
        seen: list[Picture] = []
        wanted = self.state.configuration(move.settings) not in self.state.pictures

        broken_off = False

        def look(places: RunPlaces, followed: Followed) -> None:
            nonlocal broken_off
            if wanted:
                seen.append(observe(places, followed, self._over))
                broken_off = self._over()  # half seen, and never looked at again once it is written down

        trial = run_trial(
            move.label,
            len(self.state.wall_s) + 1,
            move.settings,
            self._conditions(move.label),
            self._progress(self.state, move),
            self._over,
            look,
        )
        if not trial.cancelled and not broken_off:
            self._add(_measured(trial, time.monotonic() - began, seen))

    def _begins_anew(self) -> bool:
        """Sit down anew where the program was edited meanwhile: what was measured is of another one."""
        now = with_program(msgspec.structs.replace(self._sitting, unix=time.time()), self.state.plan)
        if same_program(self._sitting, now):
            return False
        self._say("the script was edited meanwhile: no launch of before is compared with one of now")
        self._sitting = now
        self._add(now)
        return True

    def _conditions(self, label: Label) -> Conditions:
        opened = self.state.open
        expected = opened.proposal.expected if opened else None

        def promise(collector: Collector) -> float:
            picture = picture_of(list(collector.ranks.values()), collector.findings, collector.host)
            return promised_se(self.state, label, picture, collector.foreign_cores(), self._known())

        return Conditions(
            self._subject,
            self.state.plan.seed,
            wanted_se(self._noise().tau0, expected),
            self._caps or caps_for(self.state),
            Prospect(self._cpus, opened.proposal.bound if opened else None),
            promise if opened is None or opened.purpose == "final" else None,
        )

    def _over(self) -> bool:
        return self._broken_off() is not None

    def _wait_for_gpus(self) -> None:
        last = self.state.last
        if last is not None and last.launch.gpu_uuids and self._subject.gpu_readings:
            still_held = self._gpu_rest.wait(sorted(last.launch.gpu_uuids), self._over)
            if still_held is not None:
                self._say(still_held)

    def _judge(self) -> None:
        opened = self.state.open
        if opened is None:
            return
        verdict = judge(opened.launches, self._noise(), self._cpus, semantics=opened.proposal.semantics)
        before, after = (
            [each.losses for each in opened.measured if each.launch.label == label] for label in ("A", "B")
        )
        check = NOT_COMPARABLE
        if verdict.verdict != "failed" and opened.proposal.semantics != "changes-training":
            check = check_losses(*([_numbers(each) for each in side] for side in (before, after)))
            verdict = msgspec.structs.replace(verdict, loss=check.words, loss_agrees=check.agrees)
        spoilt = check.agrees is False and opened.proposal.semantics == "numeric"
        if spoilt and verdict.verdict == "faster":
            failed = failed_verdict(f"thrown away though faster ({verdict.sentence}): {check.words}", [])
            verdict = msgspec.structs.replace(
                failed,
                launches=len(opened.measured),
                loss=check.words,
                loss_agrees=False,
                notes=verdict.notes,
            )
        judged = Judged(verdict=verdict, kept=verdict.verdict == "faster")
        line = _ledger_line(self.state.plan, self._sitting, opened, verdict)
        with open_search_ledger(ledger_path()) as ledger:
            ledger.add_judged(
                self.state.plan.search_id, judged, line, [each.steps_s for each in opened.measured]
            )
        self._advance(judged)


def subject_of(plan: SearchPlan) -> Subject:
    """Return what is launched."""
    return Subject(
        command=plan.command,
        cwd=Path(plan.cwd),
        name=plan.name,
        before=dict(plan.baseline),
        interpreter=plan.interpreter,
        gpu_readings=plan.gpu_readings,
        gpu_interval_s=plan.gpu_interval_s,
        arguments=plan.arguments,
    )


def caps_for(state: SearchState) -> Caps:
    """Return how long a launch may take: of the original as long as it needs, of others by its step time.

    Only steps count: a launch must not fail because it compiles, validates or saves while it is measured.
    """
    baseline = state.baseline
    if baseline is None or baseline.step_ms is None:
        return Caps(steps=_STEPS_OF_A_LAUNCH)
    seconds = _STEPS_OF_A_LAUNCH * baseline.step_ms / 1000
    return Caps(
        steps=_STEPS_OF_A_LAUNCH,
        seconds=_MOST_CAP_S,
        usual_seconds=min(max(seconds, _FEWEST_CAP_S), _MOST_CAP_S),
    )


def _measured(trial: Trial, wall_s: float, seen: list[Picture]) -> Measured:
    return Measured(
        launch=trial.launch,
        unix=time.time(),
        wall_s=wall_s,
        picture=seen[0] if seen else None,
        losses={step: loss if math.isfinite(loss) else None for step, loss in trial.losses.items()},
        steps_s=[round(step_s, 7) for step_s in trial.steps_s],
    )


def _numbers(losses: dict[int, float | None]) -> dict[int, float]:
    """Return losses as they were: what is no number is kept as None."""
    return {step: math.nan if loss is None else loss for step, loss in losses.items()}


def _ledger_line(plan: SearchPlan, sitting: Sitting, opened: Experiment, verdict: Verdict) -> Comparison:
    return Comparison(
        comparison_id=opened.comparison_id,
        unix=time.time(),
        name=plan.name,
        host=plan.host,
        command=plan.command,
        before=opened.before,
        set=opened.proposal.set,
        semantics=semantics_of(opened.proposal.set, plan.arguments),
        bound=opened.proposal.bound,
        expected=opened.proposal.expected,
        launches=opened.launches,
        verdict=verdict,
        finding=None if opened.purpose == "final" else opened.proposal.code,
        commit=sitting.commit,
        dirty=sitting.dirty,
        versions=sitting.versions,
        parent=plan.search_id,
    )
