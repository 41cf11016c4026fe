"""Which pictures are on their way to the terminal. Knows no clock and no terminal: it is told of both.

A terminal is asked before a picture and after it. The time between both answers is what the picture kept the
way busy; the first answer alone tells how long the way is.

Times are in s on one monotonic clock. Answers are noted by the thread that reads keys, all else by the app's.
"""

from collections import deque
from dataclasses import dataclass

from perftui.tui.pace import Pace, delivered, given_up, wait_s

_ASKED_MAX = 3
"""Questions to a terminal that has answered none so far."""
_FIRST_ANSWER_S, _LAST_ANSWER_S = 0.5, 1.5
"""How long is waited for the answer of a terminal that may be mute, and at the end for one that is not."""


@dataclass(frozen=True)
class _Question:
    asked_s: float
    ends: bool
    """Asked after a picture, not before it."""
    measured: bool = False
    """There is one before that picture, too: nothing else was on the way."""


class Delivery:
    """A picture is there once the terminal answers; where it never does, once its line has taken all."""

    def __init__(self) -> None:
        self.pace = Pace()
        self._open: deque[_Question] = deque()
        self._answers = False
        self._asked_in_vain = 0
        self._begun_s: float | None = None
        """When the question before the newest picture was answered."""
        self._handed_s: float | None = None
        """When the newest picture was sent, while nothing is known of answers."""
        self._there_s = 0.0

    def begin(self, now: float) -> bool:
        """Note that a picture is about to be sent; True when the terminal is to be asked before it."""
        alone = self._answers and not self._open
        if alone:
            self._open.append(_Question(now, ends=False))
        return alone

    def sent(self, now: float) -> bool:
        """Note that it was sent; True when the terminal is to be asked whether it is there."""
        if not self._answers:
            self._handed_s = now
            if self._asked_in_vain >= _ASKED_MAX:
                return False
            self._asked_in_vain += 1
        measured = len(self._open) == 1 and not self._open[0].ends
        self._open.append(_Question(now, ends=True, measured=measured))
        return True

    def answered(self, now: float) -> None:
        """Note an answer: to the oldest question."""
        self._answers, self._handed_s = True, None
        try:
            question = self._open.popleft()
        except IndexError:  # given up already
            return
        if not question.ends:
            self._begun_s = now
            return
        self._there_s = now
        if question.measured and self._begun_s is not None:
            self.pace = delivered(self.pace, now - question.asked_s, now - self._begun_s)

    def wait_s(self, now: float, free_s: float | None) -> float:
        """Return how long the next picture has to wait; 0: it is due.

        Args:
            now: the time.
            free_s: since when the terminal's line has taken all that was written; None while it has not.
        """
        oldest = self._open[0] if self._open else None
        if self._answers:
            return self._wait_for_answer_s(now, oldest)
        if self._asked_in_vain < _ASKED_MAX and oldest and now - oldest.asked_s < _FIRST_ANSWER_S:
            return _FIRST_ANSWER_S - (now - oldest.asked_s)
        if self._handed_s is not None and free_s is not None:
            took_s = max(0.0, free_s - self._handed_s)
            self.pace = delivered(self.pace, took_s, took_s)
            self._handed_s, self._there_s = None, free_s
        under_way_s = None if self._handed_s is None else now - self._handed_s
        return wait_s(self.pace, under_way_s, now - self._there_s)

    def _wait_for_answer_s(self, now: float, oldest: _Question | None) -> float:
        waits_s = wait_s(self.pace, now - oldest.asked_s if oldest else None, now - self._there_s)
        if oldest is not None and waits_s == 0:
            self._open.clear()
            self.pace = given_up(self.pace)
        return waits_s

    def last_answer_s(self) -> float:
        """Return how long an answer may still be worth waiting for; 0 when none is to come."""
        if not self._open:
            return 0.0
        if self._answers:
            return _LAST_ANSWER_S
        return _FIRST_ANSWER_S if self._asked_in_vain < _ASKED_MAX else 0.0
