"""A hub's end of the dashboard socket that says what a test tells it to: real sockets, real frames.

`python -m tests.tui.scripted_hub SCENE` serves a scene that moves, to look at the screens by eye.
"""

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import msgspec

from perftui.ipc.codec import decode_from_dashboard
from perftui.ipc.dashboard_messages import (
    Answer,
    Command,
    Done,
    LedgerQuery,
    Pull,
    Question,
    RanksQuery,
    SearchQuery,
    StepsQuery,
    ToDashboard,
    Update,
)
from perftui.ipc.findings import Unjudged
from perftui.ipc.hub_sockets import HubSockets
from perftui.ipc.places import make_run_places
from perftui.ipc.view import Mark, RankHistory, RunView
from tests.tui import page_scenes, scenes


class ScriptedHub:
    """Serves the newest view to whoever pulls, and keeps the commands it was sent."""

    def __init__(self, run_id: str, view: RunView, history: list[RankHistory] | None = None) -> None:
        self._places = make_run_places(run_id)
        self._lock = threading.Lock()
        self._number = 1
        self.view = view
        self.history = history or []
        self._older: list[RankHistory] = []
        self.output: list[str] = list(scenes.OUTPUT)
        self.partial = ""
        self.marks: list[Mark] = []
        self.commands: list[Command] = []
        self.questions: list[Question] = []
        self.pulls = 0
        self.answer: Callable[[Command], list[ToDashboard]] = accept
        self.tell: Callable[[Question], list[ToDashboard]] = page_scenes.told
        self.unjudged: list[Unjudged] = []
        self._closing = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    @property
    def folder(self) -> Path:
        """A short path, for sockets."""
        return self._places.runtime

    def __enter__(self) -> "ScriptedHub":
        self._thread.start()
        if not self._ready.wait(10):
            raise TimeoutError("the scripted hub did not bind its sockets")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._thread.join()

    def say(
        self, view: RunView, history: list[RankHistory] | None = None, output: list[str] | None = None
    ) -> None:
        """Change what stands there from now on."""
        with self._lock:
            self._number += 1
            self.view = view
            self._older += self.history
            self.history = history or []
            self.output += output or []

    def _serve(self) -> None:
        sockets = HubSockets(self._places)
        self._ready.set()
        try:
            while not self._closing.is_set():
                for arrival in sockets.arrivals(20):
                    message = decode_from_dashboard(arrival.frame)
                    for reply in self._replies(message):
                        sockets.to_dashboard(arrival.peer, reply)
        finally:
            sockets.close()

    def _replies(self, message: Pull | Command | Question) -> list[ToDashboard]:
        if not isinstance(message, Pull):
            if isinstance(message, StepsQuery | RanksQuery | LedgerQuery | SearchQuery):
                self.questions.append(message)
                return self.tell(message)
            self.commands.append(message)
            return self.answer(message)
        with self._lock:
            self.pulls += 1
            new = message.since != self._number
            return [
                Update(
                    number=self._number,
                    snapshot=message.since == 0,
                    view=self.view if new else msgspec.structs.replace(self.view, ranks=[], profiles=[]),
                    history=self._older + self.history if message.since == 0 else self.history if new else [],
                    marks=self.marks if message.since == 0 else [],
                    output=self.output[message.output_since :],
                    output_number=len(self.output),
                    output_partial=self.partial,
                    unjudged=self.unjudged,
                )
            ]


def accept(command: Command) -> list[ToDashboard]:
    """Take every command, and be done at once."""
    return [
        Answer(command_id=command.command_id, accepted=True),
        Done(command_id=command.command_id, ok=True),
    ]


def _view(scene: str) -> RunView:
    known: dict[str, Callable[[], RunView]] = {
        "starved": scenes.starved,
        "fine": scenes.fine,
        "two": scenes.two_ranks,
        "gpu": lambda: scenes.gpus(1),
        "eight": lambda: scenes.gpus(8),
        "sixty": lambda: scenes.gpus(64),
        "ended": scenes.ended,
        "relaunch": scenes.relaunching,
        "verdict": scenes.decided,
        "pages": page_scenes.pages,
    }
    return known[scene]()


def main(scene: str) -> None:
    """Serve a scene in motion, 10 steps a second, until interrupted."""
    view = _view(scene)
    run_id = view.header.run_id
    first = [scenes.history(each.rank, 412, wait=each.shares.loader_wait or 0) for each in view.ranks]
    with ScriptedHub(run_id, view, first) as hub:
        hub.unjudged = page_scenes.UNJUDGED
        hub.marks = [Mark(unix=0.0, rank=None, event="epoch", text="epoch 1", step=205)]
        step = 412
        while True:
            time.sleep(0.3)
            if view.header.exit_code is not None:
                continue
            step += 3
            new = [
                scenes.history(each.rank, 3, step - 3, wait=each.shares.loader_wait or 0)
                for each in view.ranks
            ]
            ranks = [
                msgspec.structs.replace(each, now_ms=new[index].wall_ms[-1], steps=step)
                for index, each in enumerate(view.ranks)
            ]
            moved = msgspec.structs.replace(
                view,
                header=msgspec.structs.replace(view.header, step=step, elapsed_s=step * 0.6),
                ranks=ranks,
                profiles=[scenes.PROFILE],
            )
            hub.say(moved, new, [f"epoch 1 step {step:4} loss {3.2 - step / 900:.3f}"])


if __name__ == "__main__":
    main(sys.argv[1])
