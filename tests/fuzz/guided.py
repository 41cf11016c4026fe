"""`python -m tests.fuzz.guided TARGET [CORPUS] [libFuzzer's options]`: guided by coverage, with atheris.

atheris is a tool for this and no dependency: `pip install atheris`. Python code of ipc, trainer/hub and
trainer/profiling is instrumented; what is taken in by msgspec, which is compiled, is not seen.
"""

import importlib
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

_INSTRUMENTED = [
    "perftui.ipc",
    "perftui.trainer.hub",
    "perftui.trainer.profiling",
    "perftui.trainer.telemetry",
]


def main(arguments: list[str]) -> None:
    """Fuzz one target until an option ends it, or a fault."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=_INSTRUMENTED):
        from tests.fuzz.__main__ import begin_of, way_of
        from tests.fuzz.targets import scratch_folder, targets
    name, options = arguments[0], arguments[1:]
    if not options or options[0].startswith("-"):
        folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-"))
    else:
        folder, options = Path(options[0]), options[1:]
        folder.mkdir(parents=True, exist_ok=True)
    begin = begin_of(name)
    for number, data in enumerate(begin):
        (folder / f"seed{number:04}").write_bytes(data)

    def altered(data: bytes, most: int, seed: int) -> bytes:
        """Alter in the ways of `mutation` half of the time, and as libFuzzer does otherwise."""
        draw = random.Random(seed)
        if draw.random() < 0.5:
            return bytes(atheris.Mutate(data, most))
        return way_of(name)(draw, data, begin)[:most]

    with scratch_folder() as scratch:
        target = targets(scratch)[name]

        def once(data: bytes) -> None:
            target(data)

        atheris.Setup([sys.argv[0], str(folder), *options], once, custom_mutator=altered)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
