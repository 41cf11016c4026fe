"""Whether a path lies on a file system of this machine: SQLite's write-ahead log needs shared memory."""

from pathlib import Path

_LOCAL = frozenset(
    {
        "bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "ntfs3", "overlay", "ramfs",
        "reiserfs", "tmpfs", "ufs", "vfat", "xfs", "zfs",
    }
)  # fmt: skip
_MOUNTS = Path("/proc/self/mountinfo")


def is_local(path: Path) -> bool:
    """Return whether `path` is on a file system known to be local; False when that cannot be told."""
    try:
        text = _MOUNTS.read_text("utf-8", "replace")
    except OSError:
        return False
    return type_of_mount(str(path.resolve().parent), text) in _LOCAL


def type_of_mount(folder: str, mountinfo: str) -> str | None:
    """Return the type of the file system that holds `folder`, from the text of /proc/self/mountinfo.

    The longest mount point wins; of two mounts on one point the later, which hides the earlier.
    """
    longest, found = -1, None
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields, kinds = before.split(), after.split()
        if len(fields) < 5 or not kinds:
            continue
        point = fields[4].replace("\\040", " ").rstrip("/")
        if (folder == point or folder.startswith(f"{point}/")) and len(point) >= longest:
            longest, found = len(point), kinds[0]
    return found
