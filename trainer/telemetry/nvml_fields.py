"""NVML's numbered fields: many figures in one call, each with a return code of its own.

Fields are named by number, since a binding knows only those of its own header. One that the driver does not
know comes back with its own code and does not fail the batch.
"""

from collections.abc import Mapping

from perftui.trainer.telemetry.guarded_figures import GuardedFigures
from perftui.trainer.telemetry.nvml_library import FieldValue, Nvml, reason_of

ALL_LINKS = 0xFFFFFFFF
"""Scope of an NVLink field: the sum over all links (nvml.h)."""
_U64_SENTINELS = frozenset({2**64 - 1, 2**63 - 1, 2**32 - 1})
"""What drivers write where they have no value."""


class FieldBatch:
    """Some fields, asked for together.

    Args:
        nvml: the library.
        fields: name of a figure → field id, or (field id, scope).
    """

    def __init__(self, nvml: Nvml, fields: Mapping[str, int | tuple[int, int]]) -> None:
        self._nvml = nvml
        self._names = tuple(fields)
        self._ids = list(fields.values())

    def read(self, handle: object, sheet: GuardedFigures) -> dict[str, int]:
        """Return the values; those that are missing have their reason in `sheet`."""
        values = sheet.take("fields", self._nvml.nvmlDeviceGetFieldValues, handle, self._ids)
        if values is None:
            sheet.lose(self._names, sheet.missing.pop("fields"))
            return {}
        found: dict[str, int] = {}
        for name, field in zip(self._names, values, strict=True):
            reason = self._reason_against(field)
            if reason is None:
                found[name] = _value_of(field)
            else:
                sheet.missing[name] = reason
        return found

    def _reason_against(self, field: FieldValue) -> str | None:
        if field.nvmlReturn:
            return reason_of(self._nvml, field.nvmlReturn)
        if not 1 <= field.valueType <= 6:  # a double holds none of these figures
            return f"the driver reports a value of an unknown kind ({field.valueType})"
        value = _value_of(field)
        if value < 0 or value in _U64_SENTINELS:
            return f"the driver reports an impossible value ({value})"
        return None


def _value_of(field: FieldValue) -> int:
    union = field.value
    readings = (0, union.uiVal, union.ulVal, union.ullVal, union.sllVal, union.siVal, union.usVal)
    return readings[field.valueType]
