"""Which packages a module of tests needs: without them it is skipped, and says why."""

from importlib.util import find_spec

import pytest


def needs(*packages: str) -> list[pytest.MarkDecorator]:
    """Return the marks of a module whose scripts import these packages."""
    absent = [package for package in ("torch", *packages) if find_spec(package) is None]
    reason = f"not installed: {', '.join(absent)} (make test-frameworks)"
    return [pytest.mark.torch, pytest.mark.slow, pytest.mark.skipif(bool(absent), reason=reason)]
