"""What lies in a folder, by content: so that a test can say that nothing of it has changed."""

import hashlib
from pathlib import Path


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
