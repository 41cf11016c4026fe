"""What was found on a case, and the file in which that is kept."""

from pathlib import Path

import msgspec

from tests.cases.case import HEALTHY, Case

CONTENDED = "self.contended"


class Result(msgspec.Struct, frozen=True):
    """One run of one case.

    Args:
        case: its name.
        expected: codes of which one must lead.
        lead: code of the leading finding; None: there was no finding.
        codes: of all findings, in their order, with severity (`input.workers:critical`).
        sentence: of the leading finding.
        share: of the step, as the leading finding says.
        step_ms: mean step of rank 0, as perftui says.
        busy: whether a neighbour kept a core busy.
        mended: whether it was the mended script: then none of `expected` may be among the findings.
        problem: why there is no answer.
    """

    case: str
    expected: tuple[str, ...]
    lead: str | None = None
    codes: tuple[str, ...] = ()
    sentence: str = ""
    share: float | None = None
    steps: int = 0
    step_ms: float | None = None
    took_s: float = 0.0
    busy: bool = False
    mended: bool = False
    problem: str | None = None

    @property
    def critical(self) -> bool:
        """Whether any finding is critical."""
        return any(code.endswith(":critical") for code in self.codes)

    @property
    def right(self) -> bool:
        """Whether the answer is the right one."""
        if self.problem is not None:
            return False
        if self.mended:
            return not {code.partition(":")[0] for code in self.codes} & set(self.expected)
        if self.expected == HEALTHY:
            allowed = (*HEALTHY, CONTENDED) if self.busy else HEALTHY
            return self.lead in allowed and not self.critical
        return self.lead in self.expected


def result_of(case: Case, summary: dict[str, object], **seen: object) -> Result:
    """Return the result of a run from its summary as `perftui run --json` writes it.

    Raises:
        msgspec.ValidationError: it is not such a summary.
    """
    read = msgspec.convert(summary, _Summary, strict=False)
    lead = read.findings[0] if read.findings else None
    rank = read.ranks[0] if read.ranks else None
    return msgspec.structs.replace(
        Result(
            case.name,
            case.expected,
            lead=lead.code if lead else None,
            codes=tuple(f"{finding.code}:{finding.severity}" for finding in read.findings),
            sentence=lead.sentence if lead else "",
            share=lead.share if lead else None,
            steps=rank.steps if rank else 0,
            step_ms=rank.step_ms.mean if rank and rank.step_ms else None,
        ),
        **seen,
    )


def read_results(path: Path) -> list[Result]:
    """Return the results in a file; none when there is no file."""
    return msgspec.json.decode(path.read_bytes(), type=list[Result]) if path.exists() else []


def write_results(path: Path, results: list[Result]) -> None:
    """Write all results, readable."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")


class _Finding(msgspec.Struct):
    code: str
    severity: str
    sentence: str
    share: float | None = None


class _StepMs(msgspec.Struct):
    mean: float | None = None


class _Rank(msgspec.Struct):
    steps: int
    step_ms: _StepMs | None = None


class _Summary(msgspec.Struct):
    findings: list[_Finding]
    ranks: list[_Rank]
