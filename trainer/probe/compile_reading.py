"""What torch.compile has done so far: dynamo's books, read on from where the last reading ended."""

import re
from collections.abc import Mapping
from types import CodeType
from typing import Any

from perftui.ipc.facts import CompileFacts, GraphBreak, Recompiled
from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.compile_words import break_reason
from perftui.trainer.probe.dynamo_books import (
    A_MODULE,
    Compilation,
    as_break,
    as_compilation,
    open_books,
    read_breaks,
    read_compilations,
    read_counters,
)
from perftui.trainer.probe.happening import Happening

NOTHING = "nothing was compiled so far"
_NAMED = 16
_SKIPS_NAMED = 8
_REMEMBERED = 256
_LIMIT = re.compile(r"(cache_size|recompile)[_ ]limit", re.IGNORECASE)
_COUNTED = ("graphs", "limit_hits", "cudagraph_skips")
_TIMED = ("recompiles", "failures", "compile_s")


class CompileReader:
    """Adds up what is new at each reading.

    Args:
        wall_offset_ns: unix time minus perf_counter: dynamo stamps with unix time.
    """

    def __init__(self, wall_offset_ns: int) -> None:
        self._wall_offset_ns = wall_offset_ns
        self._newest: Foreign = None
        self._compile_s = 0.0
        self._frames = 0
        self._recompiles = 0
        self._failures = 0
        self._doubt: str | None = None
        self._recompiled: dict[tuple[str, str], Recompiled] = {}
        self._breaks: dict[tuple[str, str | None], int] = {}
        self._breaks_read = 0
        self._cuts = 0
        self._failures_told: dict[CodeType, int] = {}
        self._uncompiled: dict[tuple[str, str | None], int] = {}
        self._skips: dict[str, None] = {}
        self._happened: list[Happening] = []

    def read(self) -> tuple[CompileFacts | None, str | None]:
        """Return what is known now, or None with the reason."""
        books = open_books()
        if books is None:
            return None, NOTHING
        entries = read_compilations(books)
        for entry in self._fresh(entries or []):
            self._take(as_compilation(entry, books, self._failures_told))
        cuts = read_breaks(books)
        self._take_breaks(cuts or [])
        counters = read_counters(books)
        if self._newest is None and not (counters and counters["frames"]):
            return None, NOTHING
        return self._facts(counters, timed=entries is not None, placed=cuts is not None), None

    def take_happenings(self) -> list[Happening]:
        """Return the compilations since the last call, oldest first."""
        taken, self._happened = self._happened, []
        return taken

    def _fresh(self, entries: list[Foreign]) -> list[Foreign]:
        if not entries:
            return []
        known = next((at for at in range(len(entries) - 1, -1, -1) if entries[at] is self._newest), None)
        if known is None and self._newest is not None:
            self._doubt = "too low: more was compiled between two readings than torch keeps"
        self._newest = entries[-1]
        return entries[0 if known is None else known + 1 :]

    def _take(self, one: Compilation) -> None:
        self._compile_s += one.took_s or 0.0
        self._frames += one.whole
        if one.took_s is None and one.whole:
            self._doubt = self._doubt or "too low: some compilations were not timed"
        if one.skip:
            self._skips[one.skip] = None
            _prune(self._skips)
        if one.failure:
            self._take_failure(one, one.failure)
        elif one.whole and one.again:
            self._recompiles += 1
            place = one.function, one.at
            before = self._recompiled.pop(place, None)
            count = 1 + (before.count if before else 0)
            self._recompiled[place] = Recompiled(
                function=one.function, at=one.at, count=count, reason=one.why_again
            )
            _prune(self._recompiled)
            self._note(one, f"recompiled {one.function} ({one.at}): {one.why_again or 'reason unknown'}")
        elif one.whole:
            self._note(one, f"compiled {one.function} ({one.at})")

    def _take_failure(self, one: Compilation, failure: str) -> None:
        if _LIMIT.search(failure):
            reason = "limit of recompilations reached"
            reason += f"; the last time: {one.why_again}" if one.why_again else ""
        else:
            self._failures += 1
            reason = break_reason(failure)
        known = None if one.function == A_MODULE else f"{one.function} ({one.at})"
        _count(self._uncompiled, (reason, known))
        self._note(one, f"runs uncompiled: {known or 'a function'}: {reason}")

    def _take_breaks(self, cuts: list[Foreign]) -> None:
        if len(cuts) < self._breaks_read:  # the script has reset dynamo
            self._breaks_read = 0
        for cut in map(as_break, cuts[self._breaks_read :]):
            if not cut.ours:
                self._cuts += 1
                _count(self._breaks, (cut.reason, cut.at))
        self._breaks_read = len(cuts)

    def _note(self, one: Compilation, text: str) -> None:
        if one.began_s is not None:
            at_ns = int(one.began_s * 1e9) - self._wall_offset_ns
            self._happened.append(Happening(at_ns, "compile", text, int((one.took_s or 0.0) * 1e9)))

    def _facts(
        self, counters: Mapping[str, Mapping[str, int]] | None, *, timed: bool, placed: bool
    ) -> CompileFacts:
        missing: dict[str, str] = {}
        if counters is None:
            missing |= dict.fromkeys(_COUNTED, "this torch keeps no such counters")
            missing |= {} if timed else {"frames": "this torch keeps no such counters"}
        if not timed:
            missing |= dict.fromkeys(_TIMED, "this torch keeps no metrics of compilations")
        elif self._doubt:
            missing["compile_s"] = self._doubt
        if not placed:
            missing["breaks"] = "this torch does not tell where it cut"
        known = counters or {}
        skips = known["inductor"]["cudagraph_skips"] if counters else None
        if skips and not self._skips:
            missing["skip_reasons"] = "torch does not keep the reason of what is found at run time"
        limits = sum(n for text, n in known.get("unimplemented", {}).items() if _LIMIT.search(text))
        cut = self._cuts if placed else sum(known.get("graph_break", {}).values())
        return CompileFacts(
            frames=self._frames if timed else known["frames"].get("ok", 0) if counters else None,
            graphs=known["stats"].get("unique_graphs", 0) if counters else None,
            recompiles=self._recompiles if timed else None,
            graph_breaks=cut if placed or counters else None,
            limit_hits=limits if counters else None,
            failures=self._failures if timed else None,
            compile_s=round(self._compile_s, 3) if timed else None,
            cudagraph_skips=skips,
            recompiled=list(self._recompiled.values())[-_NAMED:],
            breaks=_named(self._breaks),
            uncompiled=_named(self._uncompiled),
            skip_reasons=list(self._skips)[-_SKIPS_NAMED:],
            missing=missing,
        )


def _count(counts: dict[tuple[str, str | None], int], what: tuple[str, str | None]) -> None:
    counts[what] = counts.pop(what, 0) + 1  # the newest stand last
    _prune(counts)


def _prune(known: dict[Any, Any]) -> None:
    if len(known) > _REMEMBERED:
        del known[next(iter(known))]


def _named(counts: Mapping[tuple[str, str | None], int]) -> list[GraphBreak]:
    return [GraphBreak(reason=reason, at=at, count=n) for (reason, at), n in list(counts.items())[-_NAMED:]]
