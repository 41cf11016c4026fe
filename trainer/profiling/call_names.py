"""What the name of a call of the device's API tells: whether it launches, copies, waits, or allocates."""

import re
from functools import lru_cache

_LAUNCH = re.compile(
    r"^(cuda|cu|hip)(Ext)?(Module)?Launch(Cooperative)?(Kernel|HostFunc)?|^zeCommandListAppendLaunch|urEnqueueKernel"
)
_GRAPH = re.compile(r"^(cuda|cu|hip)GraphLaunch")
_DRIVER = re.compile(r"^(cu(?!da)|hip(Ext)?Module)\w*Launch")
_COPY = re.compile(r"^(cuda|cu|hip)(Memcpy|Memset)")
_WAIT = re.compile(r"^(cuda|cu|hip)(Device|Ctx|Stream|Event)Synchronize")
_ALLOCATE = re.compile(r"^(cuda|cu|hip)(Mem)?(Malloc|Alloc)(?!.*Host)")
_FREE = re.compile(r"^(cuda|cu|hip)(Mem)?Free(?!Host)")
_BLOCKING_COPY = re.compile(r"^(cuda|hip)Memcpy(?!.*Async)|^cuMemcpy(?!.*Async)|^hipMemcpyWithStream")


@lru_cache(maxsize=4096)
def launches_kernel(name: str) -> bool:
    """Return whether the call starts a kernel, or a graph of them."""
    return _LAUNCH.match(name) is not None or launches_graph(name)


@lru_cache(maxsize=4096)
def launches_graph(name: str) -> bool:
    """Return whether the call starts a graph: many kernels with one correlation."""
    return _GRAPH.match(name) is not None


@lru_cache(maxsize=4096)
def is_driver_launch(name: str) -> bool:
    """Return whether the call is of the driver's API, as Triton and inductor use it."""
    return _DRIVER.match(name) is not None


@lru_cache(maxsize=4096)
def copies(name: str) -> bool:
    """Return whether the call starts a copy or a fill."""
    return _COPY.match(name) is not None


@lru_cache(maxsize=4096)
def waits(name: str) -> bool:
    """Return whether the call waits for the device."""
    return _WAIT.match(name) is not None


@lru_cache(maxsize=4096)
def is_blocking_copy(name: str) -> bool:
    """Return whether the call copies and returns only when that is done."""
    return _BLOCKING_COPY.match(name) is not None


@lru_cache(maxsize=4096)
def allocates(name: str) -> bool:
    """Return whether the call takes memory from the device's driver."""
    return _ALLOCATE.match(name) is not None


@lru_cache(maxsize=4096)
def frees(name: str) -> bool:
    """Return whether the call gives memory back to the device's driver."""
    return _FREE.match(name) is not None
