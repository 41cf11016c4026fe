"""Two hosts for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import RuntimeDirs

from .namespaces import Hosts, available, some_hosts


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Skip where hosts cannot be made."""
    reason = available()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture
def two_hosts(namespaces: None, tmp_path: Path, runtime_dirs: RuntimeDirs) -> Iterator[Hosts]:
    with some_hosts(2, tmp_path, runtime_dirs.runtime) as made:
        yield made


@pytest.fixture
def three_hosts(namespaces: None, tmp_path: Path, runtime_dirs: RuntimeDirs) -> Iterator[Hosts]:
    with some_hosts(3, tmp_path, runtime_dirs.runtime) as made:
        yield made
