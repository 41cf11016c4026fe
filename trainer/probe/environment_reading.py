"""Environment variables that matter to speed: those of a fixed list, of which none names a secret.

The process's own view counts: a script may set them itself before it uses them.
"""

import os
import re
from collections.abc import Mapping

ENVIRONMENT_SHOWN = re.compile(
    r"(OMP|MKL|OPENBLAS|NUMEXPR|VECLIB|BLIS)_NUM_THREADS|OMP_(PROC_BIND|PLACES|WAIT_POLICY)|OMP_DYNAMIC"
    r"|MKL_DYNAMIC|OPENCV_FOR_THREADS_NUM|KMP_(AFFINITY|BLOCKTIME)|GOMP_CPU_AFFINITY|MALLOC_CONF"
    r"|MALLOC_ARENA_MAX|PYTORCH_(CUDA_)?ALLOC_CONF|PYTORCH_NO_CUDA_MEMORY_CACHING|PYTORCH_JIT"
    r"|CUDA_LAUNCH_BLOCKING|CUDA_VISIBLE_DEVICES|CUDA_DEVICE_MAX_CONNECTIONS|CUDA_MODULE_LOADING"
    r"|CUBLAS_WORKSPACE_CONFIG|NVIDIA_TF32_OVERRIDE|TORCH_ALLOW_TF32_CUBLAS_OVERRIDE|TORCH_BLAS_PREFER_CUBLASLT"
    r"|TORCH_DISTRIBUTED_DEBUG|TORCH_CPP_LOG_LEVEL|TORCH_LOGS|TORCH_SHOW_CPP_STACKTRACES|TORCH_FR_BUFFER_SIZE"
    r"|TORCH_COMPILE_(DISABLE|DEBUG|DYNAMIC_SOURCES)|TORCHDYNAMO_(DISABLE|VERBOSE)|TORCHINDUCTOR_COMPILE_THREADS"
    r"|TORCHINDUCTOR_(CUDAGRAPHS|MAX_AUTOTUNE|FORCE_DISABLE_CACHES|FX_GRAPH_CACHE)"
    r"|NCCL_[A-Z0-9_]+|TORCH_NCCL_[A-Z0-9_]+|GLOO_SOCKET_IFNAME|TOKENIZERS_PARALLELISM"
    r"|PYTHONDEVMODE|PYTHONPROFILEIMPORTTIME|PYTHONMALLOC"
)
_VALUE_KEPT = 200


def read_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return those variables of this process that are on the list, by name; long values are cut.

    Args:
        environment: what is read; None: that of this process.
    """
    source = os.environ if environment is None else environment
    names = sorted(name for name in list(source) if ENVIRONMENT_SHOWN.fullmatch(name))
    values = ((name, source.get(name)) for name in names)
    return {name: value[:_VALUE_KEPT] for name, value in values if value is not None}
