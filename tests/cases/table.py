"""The results as Markdown: what led where it should, and what led instead. Pure."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from tests.cases.case import Case
from tests.cases.measured import Truth
from tests.cases.results import Result

_NOTHING = "—"

Answers = Mapping[str, Mapping[str, str]]
"""For each other tool, what it said of each case."""


def tables(
    results: Sequence[Result],
    cases: Sequence[Case],
    truths: Mapping[str, Truth],
    rivals: Answers | None = None,
) -> str:
    """Return the totals, the confusion by code, and a line per case."""
    plain = [result for result in results if not result.mended]
    mended = [result for result in results if result.mended]
    known = {case.name: case for case in cases}
    faulty = [result for result in plain if not _healthy(result, known)]
    healthy = [result for result in plain if _healthy(result, known)]
    parts = [
        _totals(faulty, healthy, mended, known),
        _confusion(plain),
        _by_case(plain, known, truths, rivals or {}),
    ]
    return "\n".join(parts)


def _healthy(result: Result, known: Mapping[str, Case]) -> bool:
    return result.case in known and known[result.case].healthy


def _totals(
    faulty: Sequence[Result], healthy: Sequence[Result], mended: Sequence[Result], known: Mapping[str, Case]
) -> str:
    lines: list[str] = []
    if faulty:
        lines.append(f"Scripts with a cause: {_rate(faulty)} led by the right code{_apart(faulty, known)}.")
    if healthy:
        idle, busy = ([r for r in healthy if r.busy == state] for state in (False, True))
        told = [
            f"{_rate(part)} {word}"
            for part, word in ((idle, "idle"), (busy, "beside a busy process"))
            if part
        ]
        critical = sum(result.critical for result in healthy)
        lines.append(
            f"Healthy scripts: {', '.join(told)} without fault; {critical} with a critical finding"
            f"{_apart(healthy, known)}."
        )
    if mended:
        lines.append(f"Mended scripts: {_rate(mended)} without the finding.")
    return "".join(f"* {line}\n" for line in lines)


def _apart(results: Sequence[Result], known: Mapping[str, Case]) -> str:
    """Return the rates of scripts written after the rules and of the others, where there are both."""
    fresh = [result for result in results if _fresh(known.get(result.case))]
    others = [result for result in results if not _fresh(known.get(result.case))]
    if not (fresh and others):
        return " (all written after the rules)" if fresh else ""
    return f" (written after the rules: {_rate(fresh)}; the others: {_rate(others)})"


def _fresh(case: Case | None) -> bool:
    return case is not None and case.fresh


def _rate(results: Sequence[Result]) -> str:
    right = sum(result.right for result in results)
    return f"{right} of {len(results)} ({100 * right / len(results):.1f} %)"


def _confusion(results: Sequence[Result]) -> str:
    led: dict[str, Counter[str]] = defaultdict(Counter)
    right: Counter[str] = Counter()
    for result in results:
        expected = " or ".join(result.expected)
        right[expected] += result.right
        led[expected][_lead(result)] += 1
    rows = ["| expected | runs | right | led instead |", "|---|---|---|---|"]
    for expected in sorted(led):
        count = sum(led[expected].values())
        others = [f"{code} ×{times}" for code, times in led[expected].most_common() if code not in expected]
        rows.append(f"| {expected} | {count} | {right[expected]} | {', '.join(others) or _NOTHING} |")
    return "\n".join(rows) + "\n"


def _by_case(
    results: Sequence[Result], known: Mapping[str, Case], truths: Mapping[str, Truth], rivals: Answers
) -> str:
    by_case: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        by_case[result.case].append(result)
    heads = ["case", "report", "fresh", "cause's share", "expected", "perftui", "right", *rivals]
    rows = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, runs in by_case.items():
        case = known.get(name)
        leads = Counter(map(_lead, runs))
        cells = [
            name,
            (case.report if case else None) or _NOTHING,
            "yes" if _fresh(case) else _NOTHING,
            _share(truths.get(name)),
            " or ".join(runs[0].expected),
            ", ".join(
                code if times == len(runs) else f"{code} ×{times}" for code, times in leads.most_common()
            ),
            f"{sum(run.right for run in runs)}/{len(runs)}",
            *(answers.get(name, _NOTHING) for answers in rivals.values()),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _share(truth: Truth | None) -> str:
    return _NOTHING if truth is None or truth.share is None else f"{truth.share:.2f}"


def _lead(result: Result) -> str:
    return "no answer" if result.problem is not None else result.lead or "no finding"
