"""What a kernel's name tells: its class, whether it communicates, whether it runs on tensor cores.

Names go stale with every release of the libraries behind them: what no pattern knows is `other`, and None.
"""

import re
from functools import lru_cache

_COMMUNICATION = re.compile(
    r"nccl|rccl|oneccl|hccl|nvshmem|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|multimem"
    r"|cross_device_reduce",
    re.IGNORECASE,
)
_CLASSES = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("triton", r"^triton_"),
        ("attention", r"flash_?(fwd|bwd|attn|attention|splitkv)|pytorch_flash|fmha|attention|_attn_|sdpa"),
        ("optimizer", r"multi_tensor_apply|fused_?(adam|sgd|lamb|adagrad)"),
        ("norm", r"(batch|layer|group|rms|instance)_?norm|\bbn_(fw|bw)_|RowwiseMoments"),
        (
            "conv",
            r"conv(?!ert|ersion)|implicit_?gemm|fprop|dgrad|wgrad|winograd|igemm_(fwd|bwd|wrw)",
        ),
        ("gemm", r"gem[mv]|cutlass|cublas|nvjet|xmma|Cijk_|matmul|split_?k_?reduce"),
        ("elementwise", r"elementwise|CatArrayBatchedCopy|FillFunctor"),
        ("reduce", r"reduce|softmax|DeviceScan|DeviceSegmented"),
    )
)
_NO_TENSOR_CORES = frozenset({"elementwise", "reduce", "norm", "optimizer", "communication", "copy"})
_TENSOR_CORES = re.compile(
    r"tensor_?op|[hsidb]_?(884|1688|16816|16832|161616)|[hid]mma|wgmma|gmma|wmma|nvjet|warpgroup"
    r"|tensor16x8|xmma.*(tf32|f16|bf16|e4m3|e5m2|i8)|flash_?(fwd|bwd|attn)|pytorch_flash|fmha"
    r"|xdl|mfma|Cijk_.*_MI\d+x|igemm_.*_gtcx",
    re.IGNORECASE,
)
_PLAIN_CORES = re.compile(r"[sdcz]gemm_|simt|ffma|gemv|split_?k_?reduce", re.IGNORECASE)


@lru_cache(maxsize=16384)
def is_communication(name: str) -> bool:
    """Return whether a kernel of this name exchanges data with other ranks."""
    return _COMMUNICATION.search(name) is not None


@lru_cache(maxsize=16384)
def kernel_class(name: str) -> str:
    """Return the class of a kernel; copies and fills are none and are `copy` elsewhere."""
    if is_communication(name):
        return "communication"
    return next((kind for kind, pattern in _CLASSES if pattern.search(name)), "other")


@lru_cache(maxsize=16384)
def on_tensor_cores(name: str) -> bool | None:
    """Return whether a kernel of this name uses matrix units; None: the name does not tell."""
    if kernel_class(name) in _NO_TENSOR_CORES:
        return False
    if _TENSOR_CORES.search(name):
        return True
    return False if _PLAIN_CORES.search(name) else None
