"""`ddp.*`: arguments with which DistributedDataParallel is built."""

import functools
import inspect
from collections.abc import Callable

from torch import nn

from perftui.ipc.settings import SettingValue
from perftui.ipc.units import MIB
from perftui.trainer.probe.altering.book import TORCH_ERRORS, AlterationBook
from perftui.trainer.probe.border import Foreign

_PREFIX = "ddp."
NOT_BUILT = "the script builds no DistributedDataParallel"


def patch_ddp(book: AlterationBook, before: Callable[[nn.Module], None] | None) -> None:
    """Have DistributedDataParallel built as the settings want it.

    Args:
        book: what is asked.
        before: what is done to a module before it is wrapped.
    """
    kind: Foreign = getattr(nn.parallel, "DistributedDataParallel", None)
    if kind is None:
        book.refuse(book.names(_PREFIX), "this torch has no DistributedDataParallel")
        return
    original: Callable[..., None] = kind.__init__
    signature = inspect.signature(original)
    wanted = {name.removeprefix(_PREFIX): book.asked[name] for name in book.names(_PREFIX)}

    @functools.wraps(original)
    def build(self: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        try:
            arguments = signature.bind(self, *args, **kwargs).arguments
        except TypeError:  # torch's own words for it
            original(self, *args, **kwargs)
            return
        arguments.pop("self", None)
        if before is not None:
            before(arguments["module"])
        taken = {name: value for name, value in wanted.items() if name in signature.parameters}
        try:
            original(self, **{**arguments, **taken})
        except TORCH_ERRORS as error:
            book.refuse([_PREFIX + name for name in wanted], f"DistributedDataParallel refused it: {error}")
            original(self, **arguments)

    kind.__init__ = build


def read_argument(name: str, modules: list[Foreign]) -> tuple[SettingValue, str | None]:
    """Return what is in force in the newest wrapper, or why it is not known."""
    if not modules:
        return None, NOT_BUILT
    own = vars(modules[-1])
    if name == "ddp.bucket_cap_mb":
        cap = own.get("bucket_bytes_cap")
        return (None, "this torch does not tell it") if cap is None else (round(cap / MIB), None)
    value = own.get(name.removeprefix(_PREFIX))
    return (None, "this torch does not tell it") if value is None else (bool(value), None)
