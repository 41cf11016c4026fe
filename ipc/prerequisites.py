"""What must be so for a setting to be applied, or to bring anything: predicates over what a rank has told.

Pure, and apart from the table because they read facts. A predicate says True, False, or None where its fact
was not told: then nothing is refused for it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from perftui.ipc.argument_templates import ArgumentTemplate
from perftui.ipc.facts import RankFacts
from perftui.ipc.loader_names import join_name
from perftui.ipc.messages import LoaderFacts
from perftui.ipc.settings import NO_ARGUMENTS, Settings, setting
from perftui.ipc.settings_table import is_on
from perftui.ipc.torchrun_words import starts_torchrun

_CUDA_GRAPHS = frozenset({"reduce-overhead", "max-autotune"})


@dataclass(frozen=True)
class Told:
    """What is known of a training that goes on, or of one that is to start."""

    device: str | None = None
    """Of the training: `cpu`, `cuda:0`."""
    loader: LoaderFacts | None = None
    facts: RankFacts = field(default_factory=RankFacts)
    in_force: Settings = field(default_factory=dict[str, bool | int | str | None])
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prerequisite:
    """One condition."""

    reason: str
    """Said where it does not hold."""
    holds: Callable[[Told, str, Settings], bool | None]
    """Takes what was told, the setting's name, and all settings that are asked for."""
    needed: bool = True
    """False: without it the setting can be applied, and brings nothing."""


def _gpu(told: Told, name: str, asked: Settings) -> bool | None:
    if not is_on(asked[name]) and name != "debug.launch_blocking":
        return True
    return None if told.device is None else told.device.split(":")[0] != "cpu"


def _workers(told: Told, name: str, asked: Settings) -> bool | None:
    if not is_on(asked[name]):
        return True
    key = f"{name.rpartition('.')[0]}.num_workers"
    workers = asked.get(key, told.in_force.get(key))
    return workers > 0 if isinstance(workers, int) else None


def _sharded(told: Told, name: str, asked: Settings) -> bool | None:
    loader = told.loader
    if loader is None or name != _own_name(loader, "num_workers"):
        return None
    return not loader.iterable or asked[name] == loader.num_workers or loader.sharded is True


def _host_batches(told: Told, name: str, asked: Settings) -> bool | None:
    loader = told.loader
    argument = name.rpartition(".")[2]
    if loader is None or name != _own_name(loader, argument) or not is_on(asked[name]):
        return None
    if argument == "num_workers" and loader.num_workers:
        return None  # the script's own workers make such batches already
    on_device = batches_on_device(told.facts)
    return None if on_device is None else not on_device


def batches_on_device(facts: RankFacts) -> bool | None:
    """Tell whether the loader itself yields tensors outside of the host's memory; None: not looked at."""
    if facts.batch is None or not facts.batch.newest.tensors:
        return None
    return any(each.device.split(":")[0] != "cpu" for each in facts.batch.newest.tensors)


def _own_name(loader: LoaderFacts, argument: str) -> str:
    return join_name(loader.index, argument)


def _float32(told: Told, name: str, asked: Settings) -> bool | None:
    model = told.facts.model
    if model is None or not is_on(asked[name]):
        return None
    return model.dtypes.get("float32", 0) > 0


def _four_d(told: Told, name: str, asked: Settings) -> bool | None:
    model = told.facts.model
    return None if model is None or not is_on(asked[name]) else model.four_d > 0


def _not_sharded(told: Told, name: str, asked: Settings) -> bool | None:
    model = told.facts.model
    return None if model is None or not is_on(asked[name]) else model.sharded == 0


def _optimizer_argument(told: Told, name: str, asked: Settings) -> bool | None:
    optimizers = told.facts.optimizers
    if not optimizers or not is_on(asked[name]):
        return None
    return any(name.partition(".")[2] in optimizer.flags for optimizer in optimizers)


def _ddp(told: Told, _name: str, _asked: Settings) -> bool | None:
    if told.facts.parallel is not None:
        return told.facts.parallel.ddp is not None
    return False if "parallel" in told.facts.missing else None


def _not_compiled(told: Told, name: str, asked: Settings) -> bool | None:
    compiled = told.facts.compile
    if asked[name] == "off" or any(known.startswith("compile.") for known in told.in_force):
        return True
    return None if compiled is None or compiled.graphs is None else compiled.graphs == 0


def _static_shapes(told: Told, name: str, asked: Settings) -> bool | None:
    batch = told.facts.batch
    if batch is None or (name == "compile.mode" and asked[name] not in _CUDA_GRAPHS):
        return None
    return batch.distinct_shapes == 1 if is_on(asked[name]) else None


def _torchrun(told: Told, _name: str, _asked: Settings) -> bool | None:
    return starts_torchrun(told.command) if told.command else None


def _called_module(_told: Told, _name: str, _asked: Settings) -> bool | None:
    return None  # seen only in the process, in its first step


PREREQUISITES: dict[str, Prerequisite] = {
    "gpu": Prerequisite("the training does not run on a GPU", _gpu),
    "workers": Prerequisite("needs worker processes (loader.num_workers above 0)", _workers),
    "sharded_stream": Prerequisite(
        "the dataset is an IterableDataset that is not known to divide its data: each worker yields every "
        "sample, so that with another number of them it is another training",
        _sharded,
    ),
    "host_batches": Prerequisite(
        "the dataset puts its samples on the GPU: forked workers cannot use it, and only memory of the host "
        "can be page-locked",
        _host_batches,
    ),
    "called_module": Prerequisite(
        "the script must call the module whose parameters are optimised, and not its parts or other methods",
        _called_module,
    ),
    "not_compiled": Prerequisite("the script compiles its model itself: it is left as it is", _not_compiled),
    "static_shapes": Prerequisite(
        "batches have different shapes: each would be captured or tried anew", _static_shapes, needed=False
    ),
    "float32": Prerequisite("no parameter is in float32", _float32),
    "four_d": Prerequisite("the model has no tensor of four dimensions (images, kernels)", _four_d),
    "not_sharded": Prerequisite("the parameters are sharded over the ranks", _not_sharded),
    "optimizer_argument": Prerequisite("the optimizer takes no such argument", _optimizer_argument),
    "ddp": Prerequisite("the script builds no DistributedDataParallel", _ddp),
    "torchrun": Prerequisite(
        "the command is none of torchrun, python -m torch.distributed.run and "
        "python -m torch.distributed.launch",
        _torchrun,
    ),
}


def why_impossible(
    asked: Settings, told: Told, arguments: "dict[str, ArgumentTemplate] | None" = None
) -> dict[str, str]:
    """Return the settings that cannot be applied to such a training, each with the reason."""
    return _unmet(asked, told, arguments, needed=True)


def why_idle(
    asked: Settings, told: Told, arguments: "dict[str, ArgumentTemplate] | None" = None
) -> dict[str, str]:
    """Return the settings that can be applied and bring nothing, each with the reason."""
    return _unmet(asked, told, arguments, needed=False)


def _unmet(
    asked: Settings, told: Told, arguments: "dict[str, ArgumentTemplate] | None", *, needed: bool
) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in asked:
        for key in setting(name, arguments or NO_ARGUMENTS).needs:
            condition = PREREQUISITES[key]
            if condition.needed is needed and condition.holds(told, name, asked) is False:
                found.setdefault(name, condition.reason)
    return found
