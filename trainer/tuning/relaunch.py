"""One relaunch from the plan to the ledger: stop the run, measure the change, go on with the winner.

Whatever happens in between, the training is started again with the settings that it had, unless the change
has proved faster; and the ledger gets its line. Where no run goes on, there is nothing to stop and nothing to
start: only trials.
"""

import contextlib
import secrets
import socket
import time
from collections.abc import Callable

import msgspec

from perftui.ipc.errors import PerftuiError
from perftui.ipc.ledger_records import BROKEN, Verdict
from perftui.ipc.pid_space import own_pid_space
from perftui.ipc.places import RunPlaces, ledger_path
from perftui.ipc.settings import Settings, combined, format_value, semantics_of
from perftui.ipc.view import RelaunchView
from perftui.trainer.launch.start import launch, request_stop, wait_for_exit
from perftui.trainer.telemetry.host import effective_cpus
from perftui.trainer.tuning.alone import measuring_alone
from perftui.trainer.tuning.comparison import Trials
from perftui.trainer.tuning.enough import wanted_se
from perftui.trainer.tuning.going_live import live_spec
from perftui.trainer.tuning.gpu_rest import GpuRest
from perftui.trainer.tuning.journal import Journal, Underway, own_process
from perftui.trainer.tuning.judge import failed_verdict
from perftui.trainer.tuning.ledger import open_ledger
from perftui.trainer.tuning.ledger_line import ledger_line
from perftui.trainer.tuning.noise_of_past import noise_with_past, paces
from perftui.trainer.tuning.plan import RelaunchPlan
from perftui.trainer.tuning.predictor import share_of_rest_s
from perftui.trainer.tuning.price import price_of_trials
from perftui.trainer.tuning.progress import Reporter, State
from perftui.trainer.tuning.provisional import measure_before, measure_switch, provisional_verdict
from perftui.trainer.tuning.reach import Prospect
from perftui.trainer.tuning.regression import Noise
from perftui.trainer.tuning.steady import block_length
from perftui.trainer.tuning.subject import Subject, check_change, find_subject, run_command
from perftui.trainer.tuning.trials import Conditions, run_trial

_STOPPED_WITHIN_S = 120.0
_KEEPS_THE_CHANGE = frozenset({"faster", "provisional"})


def relaunch(
    plan: RelaunchPlan, report: Callable[[RelaunchView], None], cancelled: Callable[[], bool]
) -> RelaunchView:
    """Carry out a plan.

    Args:
        plan: what to change, of which run or command.
        report: given the view at each change.
        cancelled: asked often; when it says yes, the trial is stopped and the original started again.

    Returns:
        The last view: `done` with a verdict, or `failed` with a message.

    Raises:
        PerftuiError: the plan was refused before anything was changed; also told through `report`.
    """
    return _Relaunch(plan, report, cancelled).run()


class _Relaunch:
    def __init__(
        self, plan: RelaunchPlan, report: Callable[[RelaunchView], None], cancelled: Callable[[], bool]
    ) -> None:
        self._plan = plan
        self._cancelled = cancelled
        self._began_unix = time.time()
        self._id = plan.relaunch_id or secrets.token_hex(6)
        self._tell = Reporter(self._id, plan.set, report, plan.most_launches)
        self._gpu_rest = GpuRest(socket.gethostname())
        self._stopped = False
        self._journal: Journal | None = None
        self._successor: str | None = None

    def run(self) -> RelaunchView:
        with contextlib.ExitStack() as held:
            try:
                self._prepare()
                if self._plan.trial:
                    held.enter_context(measuring_alone())
            except PerftuiError as error:
                self._tell.say("failed", str(error))
                raise
            return self._carry_out()

    def _carry_out(self) -> RelaunchView:
        verdict = failed_verdict("it was broken off by an error of perftui itself", [])
        self._journal = Journal(self._id)
        self._note()
        try:
            verdict = self._measure()
        except PerftuiError as error:
            verdict = failed_verdict(str(error), self._trials.launches)
        finally:
            self._finish(verdict)
        return self._tell.view

    def _prepare(self) -> None:
        """Look, and refuse what cannot be; nothing is changed."""
        plan = self._plan
        self._subject: Subject = find_subject(plan)
        self._cpus = effective_cpus()
        check_change(plan, self._subject, self._cpus)
        in_force = self._subject.in_force
        self._tell.before({name: in_force.get(name) for name in plan.set})
        self._noise = self._learn_noise()
        self._se_wanted = wanted_se(self._noise.tau0, plan.expected)
        before = self._subject.before
        self._trials = Trials(
            before,
            combined(before, plan.set),
            self._noise,
            self._cpus,
            plan.most_launches,
            semantics_of(plan.set, self._subject.arguments),
            plan.bound,
        )
        self._most_s = plan.most_s or _most_of(self._subject, plan)

    def _note(self) -> None:
        """Leave word of how it stands, for whoever comes after this process has been killed."""
        if self._journal is None:
            return
        pid, ticks = own_process()
        self._journal.write(
            Underway(
                pid=pid,
                start_ticks=ticks,
                plan=msgspec.structs.replace(self._plan, arguments=self._subject.arguments),
                name=self._subject.name,
                command=self._subject.command,
                host=socket.gethostname(),
                pid_space=own_pid_space(),
                before=self._trials.before,
                began_unix=self._began_unix,
                view=self._tell.view,
                stopped=self._stopped,
            )
        )

    def _learn_noise(self) -> Noise:
        with open_ledger(ledger_path()) as ledger:
            noise = ledger.noise(socket.gethostname(), self._subject.command)
        live = self._subject.live
        if live is None or not live.view.ranks:
            return noise
        lead = min(live.view.ranks, key=lambda rank: rank.rank)
        workers = lead.settings.get("loader.num_workers")
        block = block_length(workers if isinstance(workers, int) else 0)
        return noise_with_past(noise, paces(live.history, lead.rank), block)

    def _measure(self) -> Verdict:
        if not self._plan.trial:
            return self._switch()
        self._stop_live()
        began = time.monotonic()
        while (label := self._trials.next_label()) is not None:
            if self._cancelled():
                return self._given_up()
            number = len(self._trials.done) + 1
            settings = self._trials.settings_of(label)
            self._tell.say("measuring", f"launch {number}: {label} ({_told(settings)})")
            self._wait_for_gpus()
            self._tell.launching(label)
            self._note()
            trial = run_trial(
                label, number, settings, self._conditions(began), self._tell.progress(), self._cancelled
            )
            self._trials.done.append(trial)
            self._tell.launched(trial.launch)
            if trial.cancelled:
                return self._given_up()
        return self._trials.verdict()

    def _wait_for_gpus(self) -> None:
        ranks = self._subject.live.view.ranks if self._subject.live else []
        uuids = {rank.gpu_uuid for rank in ranks if rank.gpu_uuid}
        uuids.update(*(launch.gpu_uuids for launch in self._trials.launches))
        if not self._subject.gpu_readings:
            return
        still_held = self._gpu_rest.wait(sorted(uuids), self._cancelled)
        if still_held is not None:
            self._tell.say("measuring", still_held)

    def _conditions(self, began: float) -> Conditions:
        """Return what the next launch is held to; `began`: when the first did."""
        caps = self._plan.caps
        if self._most_s is not None:
            left = self._plan.most_launches - len(self._trials.done)
            share_s = share_of_rest_s(self._most_s, time.monotonic() - began, left)
            caps = msgspec.structs.replace(caps, wall_seconds=share_s)
        prospect = Prospect(self._cpus, self._plan.bound)
        return Conditions(self._subject, self._plan.seed, self._se_wanted, caps, prospect)

    def _given_up(self) -> Verdict:
        launches = self._trials.launches
        when = f"during launch {len(launches)}" if launches else "before the first launch"
        again = ": the original settings stay" if self._stopped else ""
        return Verdict(
            verdict="unchanged",
            sentence=f"given up {when}{again}",
            launches=len(launches),
            steps=sum(each.steps for each in launches),
        )

    def _stop_live(self) -> None:
        """Stop the run that goes on.

        Raises:
            PerftuiError: it could not be stopped, and goes on as it is; or it had ended as it should: nobody
                wants it started again.
        """
        subject = self._subject
        if subject.live is None or subject.places is None:
            return
        self._tell.say("stopping", f"stopping {subject.places.run_id}")
        request_stop(subject.places, "relaunch", subject.trainers())
        record = wait_for_exit(subject.places, _STOPPED_WITHIN_S)
        if record is None:
            raise PerftuiError(f"{subject.places.run_id} could not be stopped; nothing was launched")
        if record.stopped_by != "relaunch" and record.outcome not in BROKEN:
            how = "had finished" if record.outcome == "finished" else "had been stopped"
            raise PerftuiError(f"{subject.places.run_id} {how} before; nothing was launched")
        self._stopped = True
        self._note()

    def _switch(self) -> Verdict:
        """Go over to the change at once: A is the run as it was, B the run that replaces it."""
        if self._subject.live is None:
            raise PerftuiError(
                "without trials there must be a run that goes on; start the command with --set"
            )
        se_wanted, caps, after = self._se_wanted, self._plan.caps, self._trials.after
        seen = measure_before(self._subject, se_wanted, caps)
        self._trials.done += [seen] if seen else []
        self._stop_live()
        self._tell.say("starting", f"starting with the change ({_told(self._plan.set)})")
        places = self._launch_live(after)
        self._tell.launching("B")
        switched = measure_switch(places, after, se_wanted, caps, self._tell.progress(), self._cancelled)
        self._trials.done.append(switched)
        self._tell.launched(switched.launch)
        if switched.launch.outcome in BROKEN:
            self._successor = None  # the change made it end: the original is started again
        return provisional_verdict(self._trials.done, self._noise, self._trials.semantics)

    def _finish(self, verdict: Verdict) -> None:
        """Start what goes on, write the ledger, tell the end: each whatever became of the one before."""
        self._tell.verdict(verdict)
        troubles: list[str] = []
        try:
            if self._stopped and self._plan.go_live and self._successor is None:
                keeps = verdict.verdict in _KEEPS_THE_CHANGE
                troubles += self._go_live(self._trials.after if keeps else self._trials.before)
        finally:
            troubles += self._write_ledger(verdict)
            if self._journal is not None:
                self._journal.close()
            state: State = "failed" if verdict.verdict == "failed" else "done"
            self._tell.say(state, "; ".join([verdict.sentence, *troubles]))

    def _go_live(self, settings: Settings) -> list[str]:
        self._tell.say("starting", f"starting the training again ({_told(settings)})")
        try:
            self._launch_live(settings)
        except (PerftuiError, OSError) as error:
            line = run_command(self._subject.command, settings)
            return [f"the training could not be started again ({error}); start it by: {line}"]
        return []

    def _launch_live(self, settings: Settings) -> RunPlaces:
        places = launch(live_spec(self._subject, settings))
        self._successor = places.run_id
        self._tell.successor(places.run_id)
        self._note()
        return places

    def _write_ledger(self, verdict: Verdict) -> list[str]:
        line = ledger_line(self._id, self._plan, self._subject, self._trials, verdict, self._successor)
        try:
            with open_ledger(ledger_path()) as ledger:
                ledger.append(line, [trial.steps_s for trial in self._trials.done])
        except (PerftuiError, OSError) as error:
            return [str(error)]
        return []


def _most_of(subject: Subject, plan: RelaunchPlan) -> float | None:
    """Return how long all trials may take, in seconds; None where nobody knows, or nothing runs."""
    if subject.live is None:
        return None
    view = subject.live.view
    price = price_of_trials(view.header, view.ranks, plan.set, plan.expected, plan.caps, plan.most_launches)
    return price.longest_s if price else None


def _told(settings: Settings) -> str:
    told = ", ".join(f"{name}={format_value(value)}" for name, value in settings.items())
    return told or "as the script has it"
