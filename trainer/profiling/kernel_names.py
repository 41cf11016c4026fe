"""What a kernel's name tells: its class, whether it communicates, whether it runs on tensor cores.

Names go stale with every release of the libraries behind them: what no word knows is `other`, and None. Words
are looked for in names in lower case and without underscores; plain words, because names have hundreds of
characters and patterns take a hundred times as long.
"""

from functools import lru_cache

_COMMUNICATION = (
    "nccl", "rccl", "oneccl", "hccl", "nvshmem", "multimem", "crossdevicereduce",
    "allreduce", "allgather", "reducescatter", "alltoall", "mscclkernel", "userbuffers",
    "deepep::intranode", "deepep::internode", "deepep::legacy::int", "deepep::elastic",
)  # fmt: skip
_INDUCTOR = "triton_"
"""Inductor names kernels after the operators around them (`triton_poi_fused_all_reduce_0`): they compute."""
_CLASSES = (
    (
        "attention",
        ("flashfwd", "flashbwd", "flashattn", "flashsplitkv", "pytorchflash", "fmha", "attention", "sdpa"),
    ),
    ("optimizer", ("multitensorapply", "fusedadam", "fusedsgd", "fusedlamb", "fusedadagrad")),
    (
        "norm",
        (
            "batchnorm",
            "layernorm",
            "groupnorm",
            "rmsnorm",
            "instancenorm",
            "rowwisemoments",
            "bnfwtr",
            "bnbw1c",
        ),
    ),
    (
        "conv",
        ("conv", "implicitgemm", "fprop", "dgrad", "wgrad", "winograd", "igemmfwd", "igemmbwd", "igemmwrw"),
    ),
    ("gemm", ("gemm", "gemv", "cutlass", "cublas", "nvjet", "xmma", "cijk", "matmul", "splitkreduce")),
    ("elementwise", ("elementwise", "catarraybatchedcopy", "fillfunctor")),
    ("reduce", ("reduce", "softmax", "devicescan", "devicesegmented")),
)
_NO_CONVOLUTION = ("convert", "conversion")
_NO_TENSOR_CORES = frozenset({"elementwise", "reduce", "norm", "optimizer", "communication", "copy"})
_TENSOR_CORES = (
    "tensorop", "nvjet", "warpgroup", "tensor16x8", "flashfwd", "flashbwd", "flashattn", "pytorchflash",
    "fmha", "wgmma", "gmma", "wmma", "hmma", "imma", "dmma", "h884", "s884", "i8816", "h1688", "s1688",
    "h16816", "s16816", "i16832", "s161616", "xdl", "mfma",
)  # fmt: skip
_XMMA_TYPES = ("tf32", "f16", "bf16", "e4m3", "e5m2", "i8i8")
_PLAIN_CORES = ("sgemm", "dgemm", "cgemm", "zgemm", "simt", "ffma", "gemv", "splitkreduce")


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


def _has(text: str, words: tuple[str, ...]) -> bool:
    return any(word in text for word in words)


@lru_cache(maxsize=16384)
def is_communication(name: str) -> bool:
    """Return whether a kernel of this name exchanges data with other ranks."""
    return not name.startswith(_INDUCTOR) and _has(_plain(name), _COMMUNICATION)


@lru_cache(maxsize=16384)
def kernel_class(name: str) -> str:
    """Return the class of a kernel; copies and fills are none and are `copy` elsewhere."""
    if name.startswith(_INDUCTOR):
        return "triton"
    if is_communication(name):
        return "communication"
    text = _plain(name)
    for word in _NO_CONVOLUTION:
        text = text.replace(word, "")
    return next((kind for kind, words in _CLASSES if _has(text, words)), "other")


@lru_cache(maxsize=16384)
def on_tensor_cores(name: str) -> bool | None:
    """Return whether a kernel of this name uses matrix units; None: the name does not tell."""
    if kernel_class(name) in _NO_TENSOR_CORES:
        return False
    text = _plain(name)
    if _has(text, _TENSOR_CORES) or ("xmma" in text and _has(text, _XMMA_TYPES)):
        return True
    if ("cijk" in text and "mi16x" in text) or ("cijk" in text and "mi32x" in text) or "gtcx" in text:
        return True
    return False if _has(text, _PLAIN_CORES) else None
