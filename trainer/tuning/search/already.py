"""What the script does by itself: settings that facts show to be in force already. Pure."""

from collections.abc import Callable

from perftui.ipc.facts import RankFacts
from perftui.ipc.settings import Settings

_MOSTLY = 0.5


def done_by_script(change: Settings, facts: RankFacts) -> str | None:
    """Return the name of a setting that the script has switched on itself; None where none is known to be."""
    for name, value in change.items():
        known = _KNOWN.get(name)
        if value is True and known is not None and known(facts):
            return name
    return None


def _benchmark(facts: RankFacts) -> bool:
    return facts.backends is not None and facts.backends.cudnn_benchmark is True


def _tf32(facts: RankFacts) -> bool:
    """Tell whether float32 products may use TF32, by the new switches or the old ones."""
    backends = facts.backends
    if backends is None:
        return False
    if backends.matmul_fp32_precision not in (None, "none"):
        return backends.matmul_fp32_precision == "tf32"
    if backends.float32_matmul_precision is not None:
        return backends.float32_matmul_precision != "highest"
    return backends.matmul_allow_tf32 is True


def _channels_last(facts: RankFacts) -> bool:
    return facts.model is not None and (facts.model.channels_last or 0.0) > _MOSTLY


def _flag(name: str) -> Callable[[RankFacts], bool]:
    def is_set(facts: RankFacts) -> bool:
        optimizers = facts.optimizers or []
        return bool(optimizers) and all(each.flags.get(name) is True for each in optimizers)

    return is_set


def _bucket_view(facts: RankFacts) -> bool:
    ddp = facts.parallel.ddp if facts.parallel is not None else None
    return ddp is not None and ddp.gradient_as_bucket_view is True


_KNOWN: dict[str, Callable[[RankFacts], bool]] = {
    "cudnn.benchmark": _benchmark,
    "precision.tf32": _tf32,
    "layout.channels_last": _channels_last,
    "optimizer.fused": _flag("fused"),
    "optimizer.foreach": _flag("foreach"),
    "ddp.gradient_as_bucket_view": _bucket_view,
}
