"""The part of AMD's `amdsmi` module in use, with types, and its start. It comes with ROCm, never with us."""

# ruff: noqa: D102 - the functions are the library's, and so are their descriptions

import importlib
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from perftui.trainer.telemetry.current_call import CurrentCall
from perftui.trainer.telemetry.gpu_backend import GpuUnavailable

_NOTHING = frozenset({0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF})


class AmdSmi(Protocol):
    """The functions in use; dictionaries hold `N/A` or all bits set where a value is missing."""

    AmdSmiException: type[Exception]

    def amdsmi_init(self) -> object: ...
    def amdsmi_get_processor_handles(self) -> Sequence[object]: ...
    def amdsmi_get_gpu_device_uuid(self, handle: object) -> str: ...
    def amdsmi_get_gpu_asic_info(self, handle: object) -> Mapping[str, object]: ...
    def amdsmi_get_gpu_driver_info(self, handle: object) -> Mapping[str, object]: ...
    def amdsmi_get_gpu_metrics_info(self, handle: object) -> Mapping[str, object]: ...
    def amdsmi_get_gpu_vram_usage(self, handle: object) -> Mapping[str, object]: ...
    def amdsmi_get_power_info(self, handle: object) -> Mapping[str, object]: ...
    def amdsmi_get_energy_count(self, handle: object) -> Mapping[str, object]: ...
    def amdsmi_get_gpu_process_list(self, handle: object) -> Sequence[Mapping[str, object]]: ...
    def amdsmi_get_gpu_total_ecc_count(self, handle: object) -> Mapping[str, object]: ...


def start_amdsmi(current: CurrentCall) -> AmdSmi:
    """Load the library and start it.

    Raises:
        GpuUnavailable: it is not installed, cannot be loaded, or refuses.
    """
    current.begin("amdsmi_init")
    try:
        amdsmi = cast(AmdSmi, importlib.import_module("amdsmi"))
    except ModuleNotFoundError as error:
        raise GpuUnavailable("there is an AMD GPU, and the package amdsmi is not installed here") from error
    except (ImportError, OSError, KeyError, AttributeError) as error:  # it looks for its library as it loads
        raise GpuUnavailable(f"amdsmi cannot be loaded ({type(error).__name__}: {error})") from error
    finally:
        current.end()
    current.begin("amdsmi_init")
    try:
        amdsmi.amdsmi_init()
    except amdsmi.AmdSmiException as error:
        raise GpuUnavailable(f"amdsmi: {' '.join(str(error).split())}") from error
    finally:
        current.end()
    return amdsmi


def number_in(answer: Mapping[str, object] | None, *names: str) -> float | None:
    """Return the first of these entries that holds a number; a list gives its first number.

    `N/A`, and all bits set at 16, 32 or 64 bits, mean that there is none.
    """
    if answer is None:
        return None
    for name in names:
        entry = answer.get(name)
        values = cast(Sequence[object], entry) if isinstance(entry, list | tuple) else (entry,)
        for value in values:
            if isinstance(value, int | float) and not isinstance(value, bool) and value not in _NOTHING:
                return float(value)
    return None
