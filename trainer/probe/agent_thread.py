"""The agent's thread: from the first training event to the exit of the process.

Apart from the agent, whose imports (msgspec) are made in the thread and not in the training.
"""

import time
from typing import TYPE_CHECKING

from perftui.trainer.probe.applied import Applied
from perftui.trainer.probe.identity import read_identity
from perftui.trainer.probe.named_run import NamedRun
from perftui.trainer.probe.recorder import Recorder
from perftui.trainer.probe.unseen_thread import UnseenThread, stay_unseen

if TYPE_CHECKING:
    from perftui.trainer.probe.agent import Agent

_JOIN_S = 0.3
_FAILURES_ALLOWED = 5
_STARTS_ALLOWED = 5
_START_AGAIN_S = 0.2


class AgentThread:
    """The thread, which nobody waits for; `stop` gives it a moment to say goodbye.

    Args:
        recorder: filled by the hooks.
        applied: what this process was to apply.
        named: the launcher's run; None where there is none.
    """

    def __init__(self, recorder: Recorder, applied: Applied, named: NamedRun | None) -> None:
        self._recorder = recorder
        self._applied = applied
        self._named = named
        self._identity = read_identity()  # now: a short training may leave its process group at once
        self._stop_reason: str | None = None
        self._thread = UnseenThread(self._main)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, reason: str) -> None:
        """Say goodbye and give what is queued a moment to leave."""
        self._stop_reason = reason
        self._thread.join(_JOIN_S)

    def _main(self) -> None:
        self._recorder.border.guard("agent", self._run)()

    def _run(self) -> None:
        begin = self._recorder.border.guard("agent", self._begun)
        for _ in range(_STARTS_ALLOWED):
            agent = begin()
            if agent is not None:
                self._work(agent)
                return
            time.sleep(_START_AGAIN_S)

    def _begun(self) -> "Agent":
        """Load and make the agent: a script that closes all its descriptors meanwhile makes that fail."""
        from perftui.trainer.probe.agent import Agent
        from perftui.trainer.probe.run_finding import find_run

        return Agent(self._recorder, find_run(self._applied, self._named), self._identity)

    def _work(self, agent: "Agent") -> None:
        turn = self._recorder.border.guard("agent", agent.turn)
        failures = 0
        while self._stop_reason is None and failures < _FAILURES_ALLOWED:
            failures = 0 if turn() else failures + 1
            stay_unseen()
        agent.leave(self._stop_reason or "the probe gave up")
