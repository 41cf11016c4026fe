"""`python -m tests.fuzz.guided TARGET [CORPUS] [libFuzzer's options]`: guided by coverage, with atheris.

atheris is a tool for this and no dependency: `pip install atheris`. Python code of ipc, trainer/hub and
trainer/profiling is instrumented; what is taken in by msgspec, which is compiled, is not seen.
"""

import importlib
import os
import random
import shutil
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
        from tests.fuzz.__main__ import begin_of
        from tests.fuzz.targets import targets
    name, options = arguments[0], arguments[1:]
    if not options or options[0].startswith("-"):
        folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-"))
    else:
        folder, options = Path(options[0]), options[1:]
        folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(begin_of(name)):
        (folder / f"seed{number:04}").write_bytes(data)
    target = targets()[name]
    texts = name in ("trace", "records", "sampler", "output")

    def altered(data: bytes, most: int, seed: int) -> bytes:
        """Alter in the ways of `mutation` half of the time, and as libFuzzer does otherwise."""
        from tests.fuzz import mutation, trace_seeds

        draw = random.Random(seed)
        if draw.random() < 0.5:
            return bytes(atheris.Mutate(data, most))
        begin = begin_of(name)
        made = trace_seeds.wrong_text(draw, data, begin) if texts else mutation.wrong(draw, data, begin)
        return made[:most]

    atheris.Setup(
        [sys.argv[0], str(folder), *options], lambda data: target(data) and None, custom_mutator=altered
    )
    try:
        atheris.Fuzz()
    finally:
        if "KEEP" not in os.environ:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
