"""What lay among temporary files when a trial began: the user's, though such folders may be written.

A training that keeps its checkpoints below /tmp, and goes on from the newest one it finds there, must find
none of a trial's. Standard library alone.
"""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_CACHES = ("torchinductor_", "triton")
"""Begin of the names of what a trial may add to as ever."""


def there_before(scratch: str, roots: Iterable[str]) -> frozenset[str]:
    """Return the entries that the first process of the trial found in the temporary folders.

    Args:
        scratch: the trial's folder, in which they are noted for all of its processes.
        roots: the temporary folders, without links in them.

    Raises:
        OSError: the scratch folder cannot be written.
    """
    noted = Path(scratch, "before.json")
    if not noted.exists():
        draft = Path(scratch, f"before-{os.getpid()}.json")
        draft.write_text(json.dumps([path for root in roots for path in _entries(root)]))
        with suppress(FileExistsError):  # who was first has begun the trial
            os.link(draft, noted)
        draft.unlink()
    return frozenset(json.loads(noted.read_bytes()))


def _entries(root: str) -> Iterator[str]:
    """Yield files, folders and links of this user; sockets and pipes are no data of anybody's."""
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if entry.name.startswith(_CACHES):
                continue
            with suppress(OSError):
                plain = entry.is_symlink() or entry.is_file() or entry.is_dir()
                if plain and entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                    yield entry.path
