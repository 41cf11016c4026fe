"""What the script's owner would write instead of a setting, so that the result needs no perftui. Pure."""

from collections.abc import Iterator, Mapping

from perftui.ipc.argument_templates import ArgumentTemplate, tokens_of
from perftui.ipc.loader_names import split_name
from perftui.ipc.settings import Settings, SettingValue, format_value

_ORDINALS = {0: "", 1: "second ", 2: "third "}


def lines_to_write(change: Settings, arguments: Mapping[str, ArgumentTemplate] | None = None) -> list[str]:
    """Return a line of code, or of a shell, for each setting of a change, in its order.

    Args:
        change: settings that the result has over the original.
        arguments: how the script takes what `arg.NAME` sets.
    """
    return list(_lines(change, arguments or {}))


def _lines(change: Settings, arguments: Mapping[str, ArgumentTemplate]) -> Iterator[str]:
    yield from _loaders(change)
    yield from _constructors(change, "optimizer.", "optim.…(model.parameters(), …, {})")
    yield from _constructors(change, "ddp.", "DistributedDataParallel(model, …, {})")
    yield from _compile(change)
    for name, value in change.items():
        line = _single(name, value, arguments)
        if line is not None:
            yield line


def _loaders(change: Settings) -> Iterator[str]:
    by_place: dict[int, list[str]] = {}
    for name, value in change.items():
        found = split_name(name)
        if found:
            by_place.setdefault(found[0], []).append(f"{found[1]}={value!r}")
    for place, words in sorted(by_place.items()):
        which = _ORDINALS.get(place, f"{place + 1}th ")
        yield f"DataLoader(…, {', '.join(words)})" + (f"  # the {which}loader" if which else "")


def _constructors(change: Settings, prefix: str, pattern: str) -> Iterator[str]:
    words = [f"{name.removeprefix(prefix)}={v!r}" for name, v in change.items() if name.startswith(prefix)]
    if words:
        yield pattern.format(", ".join(words))


def _compile(change: Settings) -> Iterator[str]:
    if change.get("compile.mode") == "off":
        yield "TORCH_COMPILE_DISABLE=1  # in the environment; or no torch.compile in the script"
        return
    of_compile = {name[8:]: value for name, value in change.items() if name.startswith("compile.")}
    words = [f"{name}={v!r}" for name, v in of_compile.items() if (name, v) != ("mode", "default")]
    if of_compile:
        yield f"model.compile({', '.join(words)})"


def _single(name: str, value: SettingValue, arguments: Mapping[str, ArgumentTemplate]) -> str | None:
    if name.startswith("env."):
        return f"export {name[4:]}={format_value(value)}"
    if name.startswith("arg.") and name[4:] in arguments:
        return " ".join(tokens_of(arguments[name[4:]], format_value(value)))
    if name == "torchrun.nproc_per_node":
        return f"torchrun --nproc-per-node={value} …"
    return _switches(value).get(name)


def _switches(value: SettingValue) -> dict[str, str]:
    on = bool(value)
    dtype = {"bf16": "torch.bfloat16", "fp16": "torch.float16"}.get(str(value))
    autocast = f"with torch.autocast(device_type, {dtype}):  # round the forward and the loss"
    if value == "fp16":
        autocast += ", with a torch.amp.GradScaler"
    layout = "channels_last" if on else "contiguous_format"
    return {
        "precision.tf32": f'torch.set_float32_matmul_precision("{"high" if on else "highest"}")',
        "precision.autocast": autocast if dtype else "# no torch.autocast round the forward",
        "layout.channels_last": f"model.to(memory_format=torch.{layout})  # and the images",
        "cudnn.benchmark": f"torch.backends.cudnn.benchmark = {on}",
        "gc.freeze": "gc.freeze()  # after the first step" if on else "# no gc.freeze()",
        "debug.anomaly": f"torch.autograd.set_detect_anomaly({on})",
        "debug.launch_blocking": f"export CUDA_LAUNCH_BLOCKING={int(on)}",
    }
