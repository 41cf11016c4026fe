"""Where a trial's files go: a copy-on-write view of the file system, kept in the trial's scratch folder.

Standard library alone: it is armed at the start of every Python process of a trial, before the script. Here
is what a path means; `overlay_patches` makes Python's file functions ask.

    scratch/files/<absolute path>        what the trial wrote
    scratch/gone/<absolute path>/.gone   what the trial removed: hidden, not done
    scratch/relinked                     there when the trial has made or removed symbolic links

State lives on disk alone, so that ranks and workers share it. Not covered: files that native code or other
programs open by themselves (HDF5, SQLite, shell commands).
"""

# pathlib goes through the functions that are patched here
# ruff: noqa: PTH100, PTH102, PTH103, PTH105, PTH106, PTH108, PTH112, PTH114, PTH115, PTH116, PTH117
# ruff: noqa: PTH118, PTH120, PTH208, PTH211

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

AnyPath: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]

_SYSTEM = ("/dev", "/proc", "/sys", "/run")
_MARK = ".gone"
_FOLLOWS = 40
_WRITTEN_KEPT = 1000


def _exists(path: str) -> bool:
    return os.path.lexists(path)


def _mode(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):
        return 0


def _make_folders(path: str) -> None:
    os.makedirs(path, mode=0o700, exist_ok=True)


@lru_cache(maxsize=4096)
def _resolved(folder: str) -> str:
    return os.path.realpath(folder)


def _missing(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _covered(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(root + "/") for root in roots)


class Overlay:
    """Tells for each path where it really is, and makes copies before anything is altered.

    Args:
        scratch: the trial's folder.
        protected: folders of the user's that are protected even where temporary files may be written.
        free: folders that may be written as ever.
        own: folders of the trial itself, free wherever they lie.
    """

    def __init__(
        self, scratch: str, protected: tuple[str, ...], free: tuple[str, ...], own: tuple[str, ...] = ()
    ) -> None:
        scratch = os.path.realpath(scratch)
        self._files = scratch + "/files"
        self._gone = scratch + "/gone"
        self._relinked = scratch + "/relinked"
        self._own = (os.path.dirname(scratch), *(os.path.realpath(root) for root in own))
        self._protected = tuple(os.path.realpath(root) for root in protected)
        self._free = tuple(os.path.realpath(root) for root in free)
        self._temporary: tuple[str, ...] = ()
        self._there_before: frozenset[str] = frozenset()
        self.written: dict[str, None] = {}
        """User paths that were written since they were last taken, in order."""
        _make_folders(self._files)

    def spare(self, roots: tuple[str, ...], entries: frozenset[str]) -> None:
        """Protect what lay in temporary folders before the trial, though these are free.

        Args:
            roots: the temporary folders, without links in them.
            entries: paths right below them.
        """
        self._temporary, self._there_before = roots, entries

    # Where a path is

    def absolute(self, path: AnyPath, dir_fd: int | None = None) -> str:
        """Return the absolute path with its folders resolved; the last part may be a link."""
        text = os.fsdecode(path)
        if dir_fd is not None and not os.path.isabs(text):
            text = os.path.join(os.readlink(f"/proc/self/fd/{dir_fd}"), text)
        text = os.path.abspath(text)
        folder, name = os.path.split(text)
        folder = self.as_user(folder)
        folder = self._resolved_in_view(folder) if _exists(self._relinked) else _resolved(folder)
        return os.path.join(folder, name) if name else folder

    def _resolved_in_view(self, folder: str) -> str:
        """Follow the links among the folders as the trial sees them: its own, and not those it removed."""
        done, rest = "/", folder.split("/")[1:]
        follows = 0
        while rest:
            step = os.path.join(done, rest.pop(0))
            ours = self.in_scratch(step)
            here = ours if _exists(ours) else step
            if os.path.islink(here) and follows < _FOLLOWS and (here is ours or not self.is_gone(step)):
                follows += 1
                target = self.as_user(os.path.normpath(os.path.join(done, os.readlink(here))))
                done, rest = "/", target.split("/")[1:] + rest
            else:
                done = step
        return done

    def as_user(self, path: str) -> str:
        """Return the user's name of a path in the scratch folder; others as they are."""
        if path.startswith(self._files + "/"):
            return path[len(self._files) :]
        return path

    def is_free(self, path: str) -> bool:
        """Tell whether a path may be written as ever."""
        if _covered(path, self._own) or _covered(path, _SYSTEM):
            return True
        if "/__pycache__/" in path or path.endswith("/__pycache__"):
            return True
        if _covered(path, self._protected):
            return False
        if _covered(path, self._free):
            return True
        return _covered(path, self._temporary) and (not self._was_there(path) or self._is_special(path))

    def _was_there(self, path: str) -> bool:
        return any(
            path.startswith(root + "/")
            and f"{root}/{path[len(root) + 1 :].partition('/')[0]}" in self._there_before
            for root in self._temporary
        )

    def in_scratch(self, path: str) -> str:
        """Return where the trial's version of a user path is, or would be."""
        return self._files + path

    def is_gone(self, path: str) -> bool:
        """Tell whether the trial removed the user's file, or a folder above it."""
        if not _exists(self._gone):
            return False
        while path != "/":
            if _exists(f"{self._gone}{path}/{_MARK}"):
                return True
            path = os.path.dirname(path)
        return False

    def visible(self, path: str) -> bool:
        """Tell whether a path exists, as the trial sees it."""
        return _exists(self.in_scratch(path)) or (not self.is_gone(path) and _exists(path))

    def for_reading(self, path: AnyPath, dir_fd: int | None = None) -> AnyPath:
        """Return the path to read; the given one, unless the trial has its own version or removed it.

        Raises:
            FileNotFoundError: the trial has removed it.
        """
        user = self.absolute(path, dir_fd)
        if self.is_free(user):
            return path
        ours = self.in_scratch(user)
        if _exists(ours):
            return ours
        if self.is_gone(user):
            raise _missing(user)
        return path

    def for_writing(
        self, path: AnyPath, dir_fd: int | None = None, *, keep: bool, new: bool = False
    ) -> AnyPath:
        """Return the path to write: the given one where that harms nobody, else one in the scratch folder.

        Args:
            path: as the script gives it.
            dir_fd: what it is relative to.
            keep: what is in the file stays (append, update), so it is copied first.
            new: the file must not exist.

        Raises:
            FileExistsError: `new`, and it does.
            FileNotFoundError: its folder does not exist, as the trial sees it.
        """
        user = self._through_links(self.absolute(path, dir_fd))
        if self.is_free(user):
            return path
        if self._is_special(user):
            return path
        if new and self.visible(user):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), user)
        self._need_folder(user)
        ours = self.in_scratch(user)
        if keep and not _exists(ours) and not self.is_gone(user) and stat.S_ISREG(_mode(user)):
            _copy_file(user, ours)
        self.note(user)
        return ours

    def for_change(self, path: AnyPath, dir_fd: int | None = None) -> AnyPath | None:
        """Return whose owner, times or mode to alter; None for a folder of the user's: nothing is done."""
        user = self.absolute(path, dir_fd)
        if self.is_free(user):
            return path
        ours = self.in_scratch(user)
        if stat.S_ISDIR(_mode(ours)):
            return ours
        if not self.visible(user):
            raise _missing(user)
        return None if stat.S_ISDIR(_mode(user)) else self.for_writing(path, dir_fd, keep=True)

    def is_plain(self, user: str) -> bool:
        """Tell whether a folder is what it is on disk: the trial has written and removed nothing there."""
        if self.is_free(user):
            return True
        return not _exists(self.in_scratch(user)) and not _exists(self._gone)

    def _through_links(self, user: str) -> str:
        for _ in range(_FOLLOWS):
            ours = self.in_scratch(user)
            here = ours if _exists(ours) else user
            if not os.path.islink(here) or (here is user and self.is_gone(user)):
                return user
            target = os.readlink(here)
            user = self.absolute(os.path.join(os.path.dirname(user), target))
        return user

    def _is_special(self, user: str) -> bool:
        mode = _mode(user)
        return bool(mode) and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)

    def _need_folder(self, user: str) -> None:
        folder = os.path.dirname(user)
        if not self.visible(folder):
            raise _missing(user)
        _make_folders(self.in_scratch(folder))

    def note(self, user: str) -> None:
        """Remember that a user path was written."""
        if len(self.written) < _WRITTEN_KEPT:
            self.written[user] = None

    # Altering the tree

    def hide(self, user: str) -> None:
        """Make the user's file or folder invisible to the trial."""
        if os.path.islink(user):
            _make_folders(self._relinked)
        if _exists(user):
            _make_folders(self._gone + user)
            os.close(os.open(f"{self._gone}{user}/{_MARK}", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))

    def remove(self, user: str) -> None:
        """Remove a file, as the trial sees it."""
        if not self.visible(user):
            raise _missing(user)
        ours = self.in_scratch(user)
        if _exists(ours):
            os.unlink(ours)
        elif stat.S_ISDIR(_mode(user)) and not os.path.islink(user):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), user)
        self.hide(user)

    def remove_folder(self, user: str) -> None:
        """Remove an empty folder, as the trial sees it."""
        if not self.visible(user):
            raise _missing(user)
        if self.names(user):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), user)
        ours = self.in_scratch(user)
        if _exists(ours):
            os.rmdir(ours)
        self.hide(user)

    def make_folder(self, user: str, mode: int) -> None:
        """Make a folder."""
        if self.visible(user):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), user)
        self._need_folder(user)
        os.mkdir(self.in_scratch(user), mode)

    def move(self, source: str, target: str) -> None:
        """Rename; what is the user's is copied and hidden. Either side may be a free path."""
        if not self._visible_anywhere(source):
            raise _missing(source)
        to = target if self.is_free(target) else self.in_scratch(target)
        if to is not target:
            self._need_folder(target)
            self.note(target)
        ours = source if self.is_free(source) else self.in_scratch(source)
        if self.is_free(source) or (_exists(ours) and not stat.S_ISDIR(_mode(ours))):
            _move(ours, to)
        else:
            self._copy_tree(source, to)
            if _exists(ours):
                _remove_tree(ours)
        if not self.is_free(source):
            self.hide(source)

    def link(self, target: str, user: str) -> None:
        """Make a symbolic link in the trial's files; what it names is copied: writing through is safe."""
        if self.visible(user):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), user)
        self._need_folder(user)
        named = self.absolute(os.path.join(os.path.dirname(user), target))
        if self.is_free(named):
            os.symlink(named, self.in_scratch(user))
            return
        if stat.S_ISDIR(_mode(named)):
            _make_folders(self.in_scratch(named))
        elif _mode(named) and self.visible(named):
            self.for_writing(named, keep=True)
        os.symlink(self.in_scratch(named), self.in_scratch(user))
        _make_folders(self._relinked)
        self.note(user)

    def _visible_anywhere(self, path: str) -> bool:
        return _exists(path) if self.is_free(path) else self.visible(path)

    def _copy_tree(self, source: str, to: str) -> None:
        here = os.fsdecode(self.for_reading(source))
        if not stat.S_ISDIR(_mode(here)):
            _copy_file(here, to)
            return
        _make_folders(to)
        for name in self.names(source):
            self._copy_tree(f"{source}/{name}", f"{to}/{name}")

    def remove_tree(self, user: str) -> None:
        """Remove a folder with all that is in it, as the trial sees it."""
        if not self.visible(user):
            raise _missing(user)
        ours = self.in_scratch(user)
        if _exists(ours):
            _remove_tree(ours)
        self.hide(user)

    def names(self, user: str) -> list[str]:
        """Return the names in a folder, as the trial sees it.

        Raises:
            OSError: it is no folder, or there is none.
        """
        return [name for name, _ in self.entries(user)]

    def entries(self, user: str) -> Iterator[tuple[str, str]]:
        """Yield (name, real path) of a folder, as the trial sees it."""
        ours = self.in_scratch(user)
        seen: set[str] = set()
        found = False
        if stat.S_ISDIR(_mode(ours)):
            found = True
            for name in os.listdir(ours):
                seen.add(name)
                yield name, f"{ours}/{name}"
        if self.is_gone(user):
            if not found:
                raise _missing(user)
            return
        if found and not _exists(user):
            return
        for name in os.listdir(user):
            if name not in seen and not _exists(f"{self._gone}{user}/{name}/{_MARK}"):
                yield name, f"{user}/{name}"


def _copy_file(source: str, target: str) -> None:
    shutil.copy2(source, target)


def _move(source: str, target: str) -> None:
    try:
        os.replace(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copy2(source, target)
        os.unlink(source)


def _remove_tree(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
