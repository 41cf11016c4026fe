"""Makes Python's file functions ask the overlay: thin wrappers, the meaning is in `overlay`.

`pathlib`, `glob`, `shutil.copy*`, `tempfile`, `zipfile`, NumPy and the like go through these functions. What
the overlay itself does passes unaltered: it is marked per thread.
"""

# pathlib goes through the functions that are patched here
# ruff: noqa: PTH112, PTH113, PTH114, PTH116
# ruff: noqa: PTH118

import builtins
import glob
import io
import os
import pathlib
import shutil
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, TypeAlias

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.overlay import AnyPath, Overlay

Call: TypeAlias = Callable[..., Any]
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_READERS = ("stat", "lstat", "access", "chdir", "statvfs", "getxattr", "listxattr")
_OLD_PATHLIB = (
    *("stat", "listdir", "scandir", "chmod", "mkdir", "unlink", "link", "rmdir", "rename", "replace"),
    *("symlink", "readlink"),
)
_CHANGERS = ("truncate", "utime", "chmod", "chown", "setxattr")


class _Inside(threading.local):
    """On while the overlay works in this thread."""

    on = False

    def __enter__(self) -> None:
        self.on = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.on = False


_inside = _Inside()


class Entry:
    """What `os.scandir` yields for a name in the trial's view of a folder."""

    def __init__(self, folder: str, name: str, real: str) -> None:
        self.name = name
        self.path = os.path.join(folder, name)
        self._real = real

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """As `os.DirEntry.stat`."""
        with _inside:
            return os.stat(self._real, follow_symlinks=follow_symlinks)

    def inode(self) -> int:
        """As `os.DirEntry.inode`."""
        return self.stat(follow_symlinks=False).st_ino

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """As `os.DirEntry.is_dir`."""
        with _inside:
            return os.path.isdir(self._real) and (follow_symlinks or not os.path.islink(self._real))

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """As `os.DirEntry.is_file`."""
        with _inside:
            return os.path.isfile(self._real) and (follow_symlinks or not os.path.islink(self._real))

    def is_symlink(self) -> bool:
        """As `os.DirEntry.is_symlink`."""
        with _inside:
            return os.path.islink(self._real)

    def is_junction(self) -> bool:
        """As `os.DirEntry.is_junction`."""
        return False


class Entries:
    """The iterator and context manager that `os.scandir` returns."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries: Iterator[Entry] = iter(entries)

    def __iter__(self) -> "Entries":
        return self

    def __next__(self) -> Entry:
        return next(self._entries)

    def __enter__(self) -> "Entries":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """As the iterator of `os.scandir`."""
        self._entries = iter(())


def write_path(overlay: Overlay, path: AnyPath) -> AnyPath:
    """Return where to write a new file, for callers that open it by other means."""
    with _inside:
        return overlay.for_writing(path, keep=False)


def read_path(overlay: Overlay, path: AnyPath) -> AnyPath:
    """Return where to read a file, for callers that open it by other means."""
    with _inside:
        return overlay.for_reading(path)


def patch_files(overlay: Overlay) -> None:
    """Put the overlay before Python's file functions, for the life of this process."""
    opener = _opener(overlay, builtins.open)
    builtins.open = io.open = opener
    _put("open", _os_open(overlay, os.open))
    for name in _READERS:
        _put(name, _reader(overlay, getattr(os, name)))
    for name in _CHANGERS:
        _put(name, _changer(overlay, getattr(os, name)))
    _put("listdir", _listdir(overlay, os.listdir))
    _put("scandir", _scandir(overlay, os.scandir))
    _put("readlink", _readlink(overlay, os.readlink))
    for name, act in (
        ("unlink", overlay.remove),
        ("remove", overlay.remove),
        ("rmdir", overlay.remove_folder),
    ):
        _put(name, _remover(overlay, getattr(os, name), act))
    _put("mkdir", _mkdir(overlay, os.mkdir))
    for name in ("rename", "replace"):
        _put(name, _mover(overlay, getattr(os, name)))
    _put("symlink", _symlink(overlay, os.symlink))
    _put("link", _hard_link(overlay, os.link))
    shutil.rmtree = _rmtree(overlay, shutil.rmtree)  # type: ignore[assignment]
    _patch_kept_functions(opener)


def _put(name: str, patched: Call) -> None:
    original = getattr(os, name)
    for known in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        if original in known:
            known.add(patched)
    setattr(os, name, patched)


def _patch_kept_functions(opener: Call) -> None:
    """Some versions of pathlib keep the functions they found at import: 3.10 most, 3.13 those of `glob`."""
    accessor = getattr(pathlib, "_NormalAccessor", None)
    _renew(accessor, _OLD_PATHLIB)
    if accessor is not None:
        accessor.open = staticmethod(opener)
    _renew(getattr(glob, "_StringGlobber", None), ("lstat", "scandir"))


def _renew(keeper: Foreign, names: tuple[str, ...]) -> None:
    for name in names:
        if hasattr(keeper, name):
            setattr(keeper, name, staticmethod(getattr(os, name)))


def _bypass(path: object) -> bool:
    return _inside.on or isinstance(path, int)


def _is_bytes(path: Foreign) -> bool:
    return isinstance(path, bytes)


def _is_path(thing: Foreign) -> bool:
    return isinstance(thing, (str, bytes, os.PathLike))


def _opener(overlay: Overlay, original: Call) -> Call:
    def open(file: Foreign, mode: str = "r", *args: Foreign, **kwargs: Foreign) -> Foreign:
        if _bypass(file) or not _is_path(file):
            return original(file, mode, *args, **kwargs)
        with _inside:
            where: AnyPath
            if set(mode) & set("wax+"):
                where = overlay.for_writing(file, keep="w" not in mode, new="x" in mode)
            else:
                where = overlay.for_reading(file)
        return original(where, mode, *args, **kwargs)

    return open


def _os_open(overlay: Overlay, original: Call) -> Call:
    def open(path: AnyPath, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> Foreign:
        if _bypass(path):
            return original(path, flags, mode, dir_fd=dir_fd)
        with _inside:
            if flags & _WRITING:
                new = bool(flags & os.O_CREAT and flags & os.O_EXCL)
                where = overlay.for_writing(path, dir_fd, keep=not flags & os.O_TRUNC, new=new)
            else:
                where = overlay.for_reading(path, dir_fd)
        return original(where, flags, mode, dir_fd=dir_fd if where is path else None)

    return open


def _reader(overlay: Overlay, original: Call) -> Call:
    def read(path: Foreign, *args: Foreign, **kwargs: Foreign) -> Foreign:
        if _bypass(path):
            return original(path, *args, **kwargs)
        with _inside:
            where = overlay.for_reading(path, kwargs.get("dir_fd"))
        if where is not path:
            kwargs.pop("dir_fd", None)
        return original(where, *args, **kwargs)

    return read


def _changer(overlay: Overlay, original: Call) -> Call:
    def change(path: Foreign, *args: Foreign, **kwargs: Foreign) -> Foreign:
        if _bypass(path):
            return original(path, *args, **kwargs)
        with _inside:
            where = overlay.for_change(path, kwargs.get("dir_fd"))
        if where is None:
            return None
        if where is not path:
            kwargs.pop("dir_fd", None)
        return original(where, *args, **kwargs)

    return change


def _listdir(overlay: Overlay, original: Call) -> Call:
    def listdir(path: Foreign = ".") -> Foreign:
        path = "." if path is None else path
        if _bypass(path):
            return original(path)
        with _inside:
            user = overlay.absolute(path)
            if overlay.is_plain(user):
                return original(path)
            names = overlay.names(user)
        return [os.fsencode(name) for name in names] if isinstance(path, bytes) else names

    return listdir


def _scandir(overlay: Overlay, original: Call) -> Call:
    def scandir(path: Foreign = ".") -> Foreign:
        path = "." if path is None else path
        if _bypass(path) or _is_bytes(path):
            return original(path)
        with _inside:
            user = overlay.absolute(path)
            if overlay.is_plain(user):
                return original(path)
            folder = os.fsdecode(path)
            return Entries([Entry(folder, name, real) for name, real in overlay.entries(user)])

    return scandir


def _readlink(overlay: Overlay, original: Call) -> Call:
    read = _reader(overlay, original)

    def readlink(path: Foreign, *args: Foreign, **kwargs: Foreign) -> Foreign:
        target = read(path, *args, **kwargs)
        return target if _inside.on or isinstance(target, bytes) else overlay.as_user(target)

    return readlink


def _remover(overlay: Overlay, original: Call, act: Callable[[str], None]) -> Call:
    def remove(path: Foreign, *, dir_fd: int | None = None) -> None:
        if _bypass(path):
            original(path, dir_fd=dir_fd)
            return
        with _inside:
            user = overlay.absolute(path, dir_fd)
            if overlay.is_free(user):
                original(path, dir_fd=dir_fd)
            else:
                act(user)

    return remove


def _mkdir(overlay: Overlay, original: Call) -> Call:
    def mkdir(path: Foreign, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        if _bypass(path):
            original(path, mode, dir_fd=dir_fd)
            return
        with _inside:
            user = overlay.absolute(path, dir_fd)
            if overlay.is_free(user):
                original(path, mode, dir_fd=dir_fd)
            else:
                overlay.make_folder(user, mode)

    return mkdir


def _mover(overlay: Overlay, original: Call) -> Call:
    def move(
        src: Foreign, dst: Foreign, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        if _inside.on:
            original(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
            return
        with _inside:
            source = overlay.absolute(src, src_dir_fd)
            target = overlay.absolute(dst, dst_dir_fd)
            if overlay.is_free(source) and overlay.is_free(target):
                original(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
            else:
                overlay.move(source, target)

    return move


def _symlink(overlay: Overlay, original: Call) -> Call:
    def symlink(
        src: Foreign, dst: Foreign, target_is_directory: bool = False, *, dir_fd: int | None = None
    ) -> None:
        if _inside.on:
            original(src, dst, target_is_directory, dir_fd=dir_fd)
            return
        with _inside:
            user = overlay.absolute(dst, dir_fd)
            if overlay.is_free(user):
                original(src, dst, target_is_directory, dir_fd=dir_fd)
            else:
                overlay.link(os.fsdecode(src), user)

    return symlink


def _hard_link(overlay: Overlay, original: Call) -> Call:
    def link(src: Foreign, dst: Foreign, **kwargs: Foreign) -> None:
        if _inside.on:
            original(src, dst, **kwargs)
            return
        with _inside:
            source = overlay.absolute(src, kwargs.get("src_dir_fd"))
            target = overlay.absolute(dst, kwargs.get("dst_dir_fd"))
            if overlay.is_free(source) and overlay.is_free(target):
                original(src, dst, **kwargs)
                return
            here = os.fsdecode(overlay.for_reading(source))
            shutil.copy2(here, os.fsdecode(overlay.for_writing(target, keep=False, new=True)))

    return link


def _rmtree(overlay: Overlay, original: Call) -> Call:
    def rmtree(path: Foreign, ignore_errors: bool = False, *args: Foreign, **kwargs: Foreign) -> None:
        if _inside.on or kwargs.get("dir_fd") is not None:
            original(path, ignore_errors, *args, **kwargs)
            return
        with _inside:
            user = overlay.absolute(path)
            if overlay.is_free(user):
                original(path, ignore_errors, *args, **kwargs)
                return
            try:
                overlay.remove_tree(user)
            except OSError:
                if not ignore_errors:
                    raise

    return rmtree
