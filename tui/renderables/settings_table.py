"""What is in force on each rank, as rows: name, value, what perftui changed, and where ranks differ. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from perftui.ipc.facts import RankFacts
from perftui.ipc.settings import SettingValue, format_value
from perftui.ipc.view import RankView
from perftui.tui import format as fmt

GROUPS = (
    ("loader", "data loader"),
    ("precision", "precision and backends"),
    ("compile", "compiling"),
    ("optimizer", "optimizer and model"),
    ("parallel", "ranks together"),
    ("process", "threads, collector, debugging"),
    ("env", "environment"),
    ("arg", "script arguments"),
)
_GROUP_OF = {
    "loader": "loader",
    "batch": "loader",
    "sampling": "loader",
    "precision": "precision",
    "layout": "precision",
    "cudnn": "precision",
    "backend": "precision",
    "compile": "compile",
    "optimizer": "optimizer",
    "model": "optimizer",
    "ddp": "parallel",
    "fsdp": "parallel",
    "parallel": "parallel",
    "torchrun": "parallel",
    "env": "env",
    "arg": "arg",
}
_PROCESS = (
    "num_threads",
    "interop_threads",
    "anomaly",
    "anomaly_check_nan",
    "profiler",
    "tracer",
    "deterministic",
)
_BACKEND_NAMES = {"deterministic_warn_only": "process"}
_NOT_READ = "not read back"


@dataclass(frozen=True)
class SettingRow:
    """One setting over all ranks."""

    group: str
    name: str
    value: str
    """Of most ranks."""
    others: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Other values, each with the ranks that have it."""
    asked: str | None = None
    """What perftui was told to set; None: nothing."""
    failed: str | None = None
    """Why that could not be applied."""
    reason: str = ""
    """Why there is no value."""

    @property
    def tells(self) -> bool:
        """Whether it differs, or was changed."""
        return bool(self.others) or self.asked is not None or self.failed is not None


def setting_rows(ranks: Sequence[RankView], asked: Mapping[str, SettingValue]) -> list[SettingRow]:
    """Return all settings in the order of `GROUPS`, those that perftui sets first in each.

    What only facts have is compared among the ranks that have told any: of many ranks, those looked at.
    """
    of_rank = {view.rank: values_of(view) for view in ranks}
    of_settings = {*asked, *(name for view in ranks for name in (*view.settings, *view.settings_failed))}
    told = {view.rank: of_rank[view.rank] for view in ranks if view.facts is not None}
    failed = {name: why for view in ranks for name, why in view.settings_failed.items()}
    reasons = {name: why for view in ranks for name, why in _reasons(view.facts)}
    names = dict.fromkeys([*asked, *failed, *(name for values in of_rank.values() for name in values)])
    rows = [_row(name, of_rank if name in of_settings else told, asked, failed, reasons) for name in names]
    order = [group for group, _ in GROUPS]
    return sorted(rows, key=lambda row: order.index(row.group))


def _row(
    name: str,
    of_rank: Mapping[int, Mapping[str, str]],
    asked: Mapping[str, SettingValue],
    failed: Mapping[str, str],
    reasons: Mapping[str, str],
) -> SettingRow:
    holders: dict[str, list[int]] = {}
    for rank, values in of_rank.items():
        holders.setdefault(values.get(name, fmt.NOTHING), []).append(rank)
    by_size = sorted(holders.items(), key=lambda held: (-len(held[1]), held[1][0]))
    value = by_size[0][0] if by_size else fmt.NOTHING
    return SettingRow(
        group=group_of(name),
        name=name,
        value=value,
        others=tuple((other, tuple(ranks)) for other, ranks in by_size[1:]),
        asked=format_value(asked[name]) if name in asked else None,
        failed=failed.get(name),
        reason=reasons.get(name, _NOT_READ if name in asked else "") if value == fmt.NOTHING else "",
    )


def group_of(name: str) -> str:
    """Return the group that a setting stands in."""
    family, _, rest = name.partition(".")
    if family in ("torch", "gc", "debug", "process"):
        return "process" if family != "torch" or rest in (*_PROCESS, *_BACKEND_NAMES) else "precision"
    return _GROUP_OF.get(family, "process")


def values_of(view: RankView) -> dict[str, str]:
    """Return every setting of a rank as read back from it."""
    found = {name: "none" if value is None else format_value(value) for name, value in view.settings.items()}
    for name, value in _of_facts(view.facts) if view.facts is not None else ():
        found.setdefault(name, value)
    return found


def _of_facts(facts: RankFacts) -> Iterator[tuple[str, str]]:
    yield from _fields("torch", facts.backends, ("missing", "autocast"))
    if facts.gc is not None:
        yield "gc.enabled", _word(facts.gc.enabled)
        yield "gc.threshold", ", ".join(map(str, facts.gc.threshold))
    for number, optimizer in enumerate(facts.optimizers or ()):
        at = "optimizer" if number == 0 else f"optimizer[{number}]"
        yield f"{at}.kind", optimizer.kind
        yield f"{at}.lr", fmt.NOTHING if optimizer.lr is None else f"{optimizer.lr:g}"
        for flag, on in optimizer.flags.items():
            yield f"{at}.{flag}", "torch chooses" if on is None else _word(on)
    yield from _of_model(facts)
    if facts.parallel is not None:
        yield from _fields("parallel", facts.parallel, ("ddp", "fsdp"))
        yield from _fields("ddp", facts.parallel.ddp, ("missing", "buckets_mib"))
        yield from _fields("fsdp", facts.parallel.fsdp, ("missing",))
    for name, value in (facts.environment or {}).items():
        yield f"env.{name}", value
    if facts.compile is not None:
        yield from _fields(
            "compile", facts.compile, ("missing", "recompiled", "breaks", "uncompiled", "skip_reasons")
        )


def _of_model(facts: RankFacts) -> Iterator[tuple[str, str]]:
    if facts.model is not None:
        yield "model.parameters", f"{facts.model.parameters:,}"
        yield "model.dtypes", ", ".join(facts.model.dtypes)
        yield "model.devices", ", ".join(facts.model.devices)
        if facts.model.channels_last is not None:
            yield "model.channels_last", fmt.percent(facts.model.channels_last)
        yield "model.grad_scaler", _word(facts.model.grad_scaler)
    if facts.sampling is not None:
        yield "sampling.sampler", facts.sampling.sampler
        yield "sampling.distributed", _word(facts.sampling.distributed)
    if facts.batch is not None:
        for number, tensor in enumerate(facts.batch.newest.tensors[:4]):
            shape = "×".join(map(str, tensor.shape)) or "scalar"
            pinned = {True: ", pinned", False: ", pageable", None: ""}[tensor.pinned]
            yield f"batch[{number}]", f"{shape} {tensor.dtype} on {tensor.device}{pinned}"


def _fields(family: str, facts: object, but: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Return what is known of a subject, field by field."""
    for name in getattr(facts, "__struct_fields__", ()):
        value = getattr(facts, name)
        if name not in but and value is not None:
            yield f"{family}.{name}", _word(value)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(_word(each) for each in value) or "none"
    return str(value)


def _reasons(facts: RankFacts | None) -> Iterator[tuple[str, str]]:
    if facts is None:
        return
    yield from facts.missing.items()
    if facts.backends is not None:
        yield from ((f"torch.{name}", why) for name, why in facts.backends.missing.items())


def unread(ranks: Sequence[RankView]) -> list[tuple[str, str]]:
    """Return the subjects of which nothing is known, each with the reason."""
    return list(dict(pair for view in ranks for pair in _reasons(view.facts)).items())
