"""The environment check in one line, said before every launch."""

from perftui.trainer.launch.host_facts import nvidia_gpu_names, shared_memory_bytes
from perftui.trainer.launch.interpreter import InterpreterCheck
from perftui.trainer.telemetry.host import effective_cpus


def environment_line(check: InterpreterCheck) -> str:
    """Return e.g. `python 3.11, torch 2.14.1, cpu, 2 cores, shm 24 GB`."""
    parts = [*_interpreter_parts(check), _device(check), f"{effective_cpus():g} cores"]
    shared = shared_memory_bytes()
    parts.append("no /dev/shm" if shared is None else f"shm {shared[0] / 1e9:.3g} GB")
    if check.blinded_by:
        parts.append(f"{check.blinded_by} keeps perftui out of this Python: it will see no steps")
    return ", ".join(parts)


def _interpreter_parts(check: InterpreterCheck) -> list[str]:
    if check.python is None:
        return [check.problem or "python unknown"]
    version = f"python {check.python[0]}.{check.python[1]}"
    if check.torch is None:
        return [version, "no torch there (a script that never trains shows no steps)"]
    return [version, f"torch {check.torch}"]


def _device(check: InterpreterCheck) -> str:
    names = nvidia_gpu_names()
    if not names:
        return "cpu"
    gpus = names[0] if len(names) == 1 else f"{len(names)} x {names[0]}"
    if check.torch is not None and check.torch_cuda is None:
        return f"cpu (this torch is a CPU build; {gpus} unused)"
    return gpus
