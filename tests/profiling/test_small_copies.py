"""The one sentence where a host makes many small copies to the device: it agrees with the finding."""

import pytest
from msgspec.structs import replace

from perftui.ipc.trace_report import CopyFigures
from perftui.trainer.diagnosis.policy import POLICY
from perftui.trainer.profiling.sentence import rank_sentence
from perftui.trainer.profiling.thresholds import LAUNCH_BOUND_DELAY_US, SMALL_COPIES, SMALL_COPY_MIB
from tests.profiling.made_figures import figures, launched


def _copies(count: int = 16, mib_each: float = SMALL_COPY_MIB) -> CopyFigures:
    return CopyFigures(
        kind="HtoD (Pageable -> Device)",
        pageable=True,
        count=count,
        total_us=10.0,
        mib=mib_each * count,
        gib_s=1.0,
        exposed_us=10.0,
        per_step=float(count),
    )


@pytest.mark.parametrize(
    ("copies", "launches", "said"),
    [
        (_copies(), 31, "Many small copies"),
        (_copies(), 32, "Launch-bound"),
        (_copies(15), 20, "Launch-bound"),
        (_copies(mib_each=SMALL_COPY_MIB + 0.01), 20, "Launch-bound"),
    ],
)
def test_small_copies_at_their_thresholds(copies: CopyFigures, launches: int, said: str) -> None:
    short = replace(launched(LAUNCH_BOUND_DELAY_US - 1, 1.0), count=launches)
    report = replace(figures(computed=0.4, host=0.6, launches=short), memcpy=[copies])
    assert rank_sentence(report).startswith(said)


def test_what_is_said_of_them() -> None:
    short = replace(launched(1.0, 1.0), count=1100)
    report = replace(figures(computed=0.4, host=0.6, launches=short), memcpy=[_copies(1024, 4 / 1024)])
    assert rank_sentence(report) == (
        "Many small copies: the GPU was idle for 60 % of this step while the host made 1024 copies to it a "
        "step, 4 KiB each on average; the GPU computed for 40 %."
    )


def test_the_diagnosis_counts_the_same_copies() -> None:
    assert (POLICY.small_copies, POLICY.small_copy_mib) == (SMALL_COPIES, SMALL_COPY_MIB)
