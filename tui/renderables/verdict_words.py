"""A verdict as a mark, a word and a sentence that does not say the word again."""

from dataclasses import dataclass

from perftui.ipc.ledger_records import Verdict
from perftui.tui import format as fmt

_WORDS = {
    "faster": ("▲", "fine", "FASTER", ""),
    "slower": ("!", "critical", "SLOWER", ""),
    "same": ("●", "note", "SAME", ""),
    "inconclusive": ("○", "note", "NOT DECIDED", "not decided"),
    "too_noisy": ("○", "note", "TOO NOISY TO JUDGE", "too noisy to judge"),
    "repeats_disagree": ("○", "note", "NO VERDICT", "no verdict"),
    "provisional": ("○", "note", "PROVISIONAL", "provisional"),
    "unchanged": ("○", "note", "UNCHANGED", ""),
    "failed": ("✖", "critical", "FAILED", ""),
}
"""Mark, role, word, and how the sentence may begin to say the word again."""
_SHORT = {"too_noisy": "too noisy"}


@dataclass(frozen=True)
class VerdictWords:
    """A verdict, ready to be drawn."""

    mark: str
    role: str
    word: str
    short: str
    """The word as a column has it."""
    rest: str


def verdict_words(verdict: Verdict) -> VerdictWords:
    """Return the words of a verdict."""
    mark, role, word, echo = _WORDS[verdict.verdict]
    rest = fmt.clean(verdict.sentence)
    if echo and rest.lower().startswith(echo):
        rest = rest[len(echo) :].lstrip(" :;,")
    return VerdictWords(mark, role, word, _SHORT.get(verdict.verdict, word.lower()), rest)
