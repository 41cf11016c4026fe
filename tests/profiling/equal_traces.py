"""Whether two traces that were read hold the same."""

import numpy as np

from perftui.trainer.profiling.trace_columns import Trace


def same(one: Trace, other: Trace) -> bool:
    tables = ("host", "calls", "device", "python", "memory")
    columns = [
        (getattr(getattr(one, table), name), getattr(getattr(other, table), name))
        for table in tables
        for name in getattr(one, table).__dataclass_fields__
    ]
    return (
        all(np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f") for mine, theirs in columns)
        and one.names == other.names
        and one.shapes == other.shapes
    )
