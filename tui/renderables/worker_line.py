"""A rank's loader workers in one line, or in one cell of a table. Pure pictures."""

from perftui.ipc.view import LoaderWorkers
from perftui.tui import format as fmt
from perftui.tui.renderables.lines import BLANK, Line, Run, join_fitting, line

_GAP = line(Run(" · ", "frame"))
_MUCH = 0.1
_DULL_SHARE = 0.01
_DULL_MIB_S = 0.1
"""What is less is no news, and left out."""
_OLD_S = 15.0


def worker_line(workers: LoaderWorkers, width: int) -> Line:
    """Draw the workers of one rank; the last parts go where room is scarce."""
    likely = "likely " if workers.found_by == "kin" else ""
    noun = "worker" if workers.count == 1 else "workers"
    each = "" if workers.count == 1 else " each"
    parts = [
        line(f"{workers.count}", Run(f" {likely}{noun}", "dim")),
        line(_cores(workers.cpu_share), Run(f" cores{each}", "dim")),
        line(Run(f"{workers.blocked} waiting for a device", "warning")) if workers.blocked else BLANK,
        line(Run(f"{workers.gone} ended", "dim")) if workers.gone else BLANK,
        line(Run(f"{fmt.age(workers.age_s)} old", "warning")) if workers.age_s > _OLD_S else BLANK,
        _share("waited for a core ", workers.cpu_wait_share),
        _share("waited for a disk ", workers.io_wait_share),
        _reads(workers),
        line(fmt.mebibytes(workers.rss_mib), Run(" RSS", "dim")) if workers.rss_mib is not None else BLANK,
        line(f"{workers.threads}", Run(" threads", "dim")) if workers.threads else BLANK,
    ]
    return join_fitting(parts, _GAP, width)


def worker_cell(workers: LoaderWorkers | None) -> Line:
    """Draw how many there are, how busy each is, and how many wait for a device: 4×0.9 D2."""
    if workers is None:
        return line(Run(fmt.NOTHING, "dim"))
    blocked = Run(f" D{workers.blocked}", "warning") if workers.blocked else Run("")
    return line(f"{workers.count}×{_cores(workers.cpu_share)}", blocked)


def _cores(share: float | None) -> str:
    return fmt.NOTHING if share is None else f"{share:.1f}"


def _share(label: str, share: float | None) -> Line:
    if share is None or share < _DULL_SHARE:
        return BLANK
    role = "warning" if share >= _MUCH else "text"
    return line(Run(label, "dim"), Run(fmt.percent(share), role), Run(" of the time", "dim"))


def _reads(workers: LoaderWorkers) -> Line:
    if workers.read_mib_s is None or workers.storage_read_mib_s is None:
        return BLANK
    if max(workers.read_mib_s, workers.storage_read_mib_s) < _DULL_MIB_S:
        return BLANK
    stored = workers.storage_read_mib_s
    source = f", {fmt.number(stored)} from storage" if stored >= _DULL_MIB_S else ", none from storage"
    return line(Run("reads ", "dim"), fmt.number(workers.read_mib_s), Run(f" MiB/s{source}", "dim"))
