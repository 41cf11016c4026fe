"""A rank's loader workers in one line, or in one cell of a table. Pure pictures."""

from perftui.ipc.view import LoaderWorkers
from perftui.tui import format as fmt
from perftui.tui.renderables.lines import BLANK, Line, Run, join_fitting, line

_GAP = line(Run(" · ", "frame"))
_MUCH = 0.1
_OLD_S = 15.0


def worker_line(workers: LoaderWorkers, width: int) -> Line:
    """Draw the workers of one rank; the last parts go where room is scarce."""
    likely = "likely " if workers.found_by == "kin" else ""
    noun = "worker" if workers.count == 1 else "workers"
    each = "" if workers.count == 1 else " each"
    parts = [
        line(f"{workers.count}", Run(f" {likely}{noun}", "dim")),
        line(_cores(workers.cpu_share), Run(f" cores{each}", "dim")),
        line(Run("D state ", "dim"), Run(f"{workers.blocked}", "warning" if workers.blocked else "text")),
        line(Run(f"{workers.gone} ended", "dim")) if workers.gone else BLANK,
        line(Run(f"{fmt.age(workers.age_s)} old", "warning")) if workers.age_s > _OLD_S else BLANK,
        _share("no core ", workers.cpu_wait_share),
        _share("on disk ", workers.io_wait_share),
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
    if share is None:
        return BLANK
    return line(Run(label, "dim"), Run(fmt.percent(share), "warning" if share >= _MUCH else "text"))


def _reads(workers: LoaderWorkers) -> Line:
    if workers.read_mib_s is None or workers.storage_read_mib_s is None:
        return BLANK
    stored = fmt.number(workers.storage_read_mib_s)
    return line(
        Run("reads ", "dim"), fmt.number(workers.read_mib_s), Run(f" MiB/s, {stored} from storage", "dim")
    )
