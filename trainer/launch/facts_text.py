"""What a rank tells beside its steps, as a few lines; what is not known is left out."""

from typing import Any

_JSON = dict[str, Any]
_SHOWN = 3


def facts_lines(facts: _JSON) -> list[str]:
    """Return the lines for one rank's facts, as they stand in the summary JSON."""
    rows = (
        ("model", _model(facts.get("model"))),
        ("optimizer", _optimizers(facts.get("optimizers") or [])),
        ("parallel", _parallel(facts.get("parallel"))),
        ("sampler", _sampling(facts.get("sampling"))),
        ("compile", _compile(facts.get("compile"))),
        ("gc", _collections(facts.get("gc"))),
        ("memory", _allocator(facts.get("allocator"))),
    )
    return [f"{name:<9} {text}" for name, text in rows if text]


def _count(number: float) -> str:
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


def _times(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _model(model: _JSON | None) -> str:
    if not model:
        return ""
    parts = [f"{_count(model['parameters'])} parameters, {', '.join(model['dtypes'])}"]
    parts.append("on " + ", ".join(model["devices"]))
    if model["channels_last"] is not None:
        parts.append(f"{model['channels_last']:.0%} channels_last")
    parts += ["GradScaler"] if model["grad_scaler"] else []
    return ", ".join(parts)


def _optimizers(optimizers: list[_JSON]) -> str:
    told: list[str] = []
    for one in optimizers[:_SHOWN]:
        on = [name for name, value in one["flags"].items() if value]
        told.append(one["kind"] + (f" ({', '.join(on)})" if on else ""))
    return ", ".join(told)


def _parallel(parallel: _JSON | None) -> str:
    if not parallel:
        return ""
    parts = [f"{parallel['backend']}, {parallel['world_size']} ranks"] if parallel["backend"] else []
    ddp, fsdp = parallel["ddp"], parallel["fsdp"]
    if ddp:
        on = [
            name
            for name in ("gradient_as_bucket_view", "static_graph", "find_unused_parameters")
            if ddp[name]
        ]
        parts.append(
            f"DDP with buckets of {ddp['bucket_cap_mb']:g} MiB" + "".join(f", {name}" for name in on)
        )
        parts += _synchronisations(ddp)
    if fsdp:
        parts += _sharding(fsdp)
    parts += ["DataParallel"] if parallel["data_parallel"] else []
    return ", ".join(parts)


def _synchronisations(ddp: _JSON) -> list[str]:
    if ddp["syncs_per_step"] is None:
        return []
    backwards = ddp["backwards_per_step"]
    told = [f"gradients summed in {ddp['syncs_per_step']:g} of {backwards:g} backwards a step"]
    if ddp["all_reduces_per_step"] is not None:
        told.append(f"{ddp['all_reduces_per_step']:g} all-reduces a step")
    return told


def _sharding(fsdp: _JSON) -> list[str]:
    told = [f"FSDP{fsdp['version']} of {_times(fsdp['units'], 'unit')}"]
    if fsdp["all_gathers_per_step"] is not None:
        gathers, scatters = fsdp["all_gathers_per_step"], fsdp["reduce_scatters_per_step"]
        told.append(f"{gathers:g} all-gathers and {scatters:g} reduce-scatters a step")
    if fsdp["reshard_after_forward"] is False:
        told.append("not resharded after the forward")
    if "comm_exposed" in fsdp["missing"]:
        told.append("exposed communication — (needs a profile window)")
    return told


def _sampling(sampling: _JSON | None) -> str:
    if not sampling:
        return ""
    shuffle = {True: "shuffled", False: "in order", None: "order not known"}[sampling["shuffle"]]
    parts = [sampling["sampler"], shuffle]
    if sampling["set_epoch"] is False:
        parts.append("set_epoch is not called")
    return ", ".join(parts)


def _compile(told: _JSON | None) -> str:
    if not told:
        return ""
    parts: list[str] = []
    for name, what in (
        ("graphs", "graph"),
        ("recompiles", "recompilation"),
        ("graph_breaks", "graph break"),
        ("limit_hits", "limit hit"),
    ):
        if told[name]:
            parts.append(_times(told[name], what))
    if told["compile_s"] is not None:
        parts.append(f"{told['compile_s']:.1f} s")
    return ", ".join(parts)


def _collections(told: _JSON | None) -> str:
    if not told:
        return ""
    text = f"{_times(sum(told['counts']), 'collection')}, {sum(told['total_ms']) / 1e3:.2f} s"
    return text + f", the longest {told['longest_ms']:.0f} ms" if told["long_pauses"] else text


def _allocator(told: _JSON | None) -> str:
    if not told:
        return ""
    used, reserved = f"{told['allocated_mib']:,.0f} MiB", f"{told['reserved_mib']:,.0f} MiB"
    text = f"{used} in use, {reserved} reserved on {told['device']}"
    if told["alloc_retries"] or told["ooms"]:
        text += f", {told['alloc_retries']} retries, {told['ooms']} times out of memory"
    return text
