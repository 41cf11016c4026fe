"""Environment variables that matter to speed: those of a fixed list, of which none names a secret.

The process's own view counts: a script may set them itself before it uses them.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

SHOWN = (
    "OMP_NUM_THREADS",
    "OMP_DYNAMIC",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "OMP_WAIT_POLICY",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "MKL_NUM_THREADS",
    "MKL_DYNAMIC",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OPENCV_FOR_THREADS_NUM",
    "MALLOC_ARENA_MAX",
    "MALLOC_CONF",
    "PYTHONDEVMODE",
    "PYTHONMALLOC",
    "TOKENIZERS_PARALLELISM",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_VISIBLE_DEVICES",
    "CUBLAS_WORKSPACE_CONFIG",
    "NVIDIA_TF32_OVERRIDE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_BLAS_PREFER_CUBLASLT",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "PYTORCH_JIT",
    "TORCH_COMPILE_DEBUG",
    "TORCH_COMPILE_DISABLE",
    "TORCH_COMPILE_DYNAMIC_SOURCES",
    "TORCHDYNAMO_DISABLE",
    "TORCHDYNAMO_VERBOSE",
    "TORCHINDUCTOR_COMPILE_THREADS",
    "TORCHINDUCTOR_CUDAGRAPHS",
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES",
    "TORCHINDUCTOR_FX_GRAPH_CACHE",
    "TORCHINDUCTOR_MAX_AUTOTUNE",
    "TORCH_CPP_LOG_LEVEL",
    "TORCH_DISTRIBUTED_DEBUG",
    "TORCH_FR_BUFFER_SIZE",
    "TORCH_LOGS",
    "TORCH_SHOW_CPP_STACKTRACES",
    "GLOO_SOCKET_IFNAME",
    "NCCL_*",
    "TORCH_NCCL_*",
)
"""A star stands for capital letters, digits and underscores."""
_SHOWN = re.compile("|".join(name.replace("*", "[A-Z0-9_]+") for name in SHOWN))
_VALUE_KEPT = 200
_STARTED_WITH = Path("/proc/self/environ")


def read_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return those variables of this process that are on the list, by name; long values are cut.

    Args:
        environment: what is read; None: that of this process.
    """
    source = os.environ if environment is None else environment
    names = sorted(name for name in list(source) if _SHOWN.fullmatch(name))
    values = ((name, source.get(name)) for name in names)
    return {name: value[:_VALUE_KEPT] for name, value in values if value is not None}


def read_own_environment(
    environment: Mapping[str, str] | None = None, started_with: Path = _STARTED_WITH
) -> tuple[list[str] | None, str | None]:
    """Return which of these variables the process has given another value than it started with, or why not.

    Args:
        environment: what is read; None: that of this process.
        started_with: the variables that it started with, as the kernel keeps them.
    """
    try:
        block = started_with.read_bytes()
    except OSError as error:
        return None, f"{started_with}: {error.strerror}"
    entries = (entry.partition(b"=") for entry in block.split(b"\0"))
    before = {os.fsdecode(name): os.fsdecode(value)[:_VALUE_KEPT] for name, _, value in entries}
    return [name for name, value in read_environment(environment).items() if before.get(name) != value], None
