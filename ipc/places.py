"""Where things are: the per-user runtime directory with sockets, and the state directory with runs.

A run has two folders of the same name: `<runtime>/<run_id>/` (sockets, lock; short path, private, gone with
the run) and `<state>/runs/<run_id>/` (recording, output, profiles, summary; kept).
"""

import contextlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from perftui.ipc.errors import NoSuchRun, Refused, UsageError
from perftui.ipc.told_text import is_utf8

RUN_ID = re.compile(r"[a-z0-9][a-z0-9._-]{2,60}")
_SOCKET_PATH_MAX = 107
_RANKS = "ranks.sock"
TEMPORARY = Path("/tmp")
"""Not `$TMPDIR`: a batch system has one for each job, and some launchers for each rank, so that a hub and who
looks for it would each look elsewhere."""


def runtime_root() -> Path:
    """Return the per-user directory for sockets, made 0700 and checked to be ours.

    Raises:
        Refused: the directory cannot be made, belongs to someone else, others may write there, or they may
            put another one in its place; or its path is not UTF-8.
    """
    override = _absolute("PERFTUI_RUNTIME_DIR")
    root = Path(override) if override else TEMPORARY / f"perftui-{os.getuid()}"
    _require_utf8(root, "PERFTUI_RUNTIME_DIR")
    with contextlib.suppress(FileExistsError):  # something else of that name: told below
        _make(root, "set PERFTUI_RUNTIME_DIR to another one")
    found = root.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise Refused(f"{root} is not a directory of this user; set PERFTUI_RUNTIME_DIR to one that is")
    if override:  # the mode of a directory that somebody chose is not ours to alter
        if found.st_mode & 0o022:
            raise Refused(f"{root} can be written by others; set PERFTUI_RUNTIME_DIR to a private directory")
        return root
    if found.st_mode & 0o077:
        root.chmod(0o700)
    above = root.parent.stat().st_mode
    if above & stat.S_IWOTH and not above & stat.S_ISVTX:
        raise Refused(
            f"{root.parent} lets anybody rename what is in it (no sticky bit); set PERFTUI_RUNTIME_DIR to a "
            "private directory"
        )
    return root


def _absolute(name: str) -> str | None:
    """Return a folder's path from the environment: processes of a run stand in different folders."""
    value = os.environ.get(name)
    if value and not Path(value).is_absolute():
        raise Refused(f"{name}={value} is not an absolute path; set it to one")
    return value


def _require_utf8(root: Path, name: str) -> None:
    """Refuse a folder whose path cannot be written down, sent and bound to."""
    if not is_utf8(str(root)):
        raise Refused(f"{str(root)!a} is not UTF-8; set {name} to a folder whose path is")


def state_root() -> Path:
    """Return `${XDG_STATE_HOME:-~/.local/state}/perftui`, made if need be, and closed to others.

    Raises:
        Refused: it cannot be made, belongs to someone else, or its path is not UTF-8.
    """
    base = _absolute("XDG_STATE_HOME")
    root = (Path(base) if base else _home() / ".local" / "state") / "perftui"
    _require_utf8(root, "XDG_STATE_HOME")
    try:
        _make(root, "set XDG_STATE_HOME to a folder that can be written")
    except FileExistsError:
        raise Refused(f"{root} is not a directory; set XDG_STATE_HOME to another one") from None
    found = root.stat()
    if found.st_uid != os.getuid():  # what lies there decides which processes are signalled
        raise Refused(f"{root} belongs to another user; set XDG_STATE_HOME to a folder of your own")
    if found.st_mode & 0o077:
        with contextlib.suppress(OSError):  # a file system without modes
            root.chmod(0o700)
    return root


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # HOME is not set, and nobody knows this user, as in containers
        raise Refused("this user has no home folder; set HOME, or XDG_STATE_HOME to a folder") from None


def current_folder() -> Path:
    """Return the folder that a command is given in.

    Raises:
        Refused: somebody has removed it, or it cannot be reached.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise Refused(f"there is no current folder ({error.strerror}); go to one that exists") from error


def _make(folder: Path, way_out: str) -> None:
    """Make a folder and those above it that are missing, all of them private whatever the umask."""
    missing = [folder, *folder.parents]
    missing = missing[: next((at for at, each in enumerate(missing) if each.is_dir()), len(missing))]
    try:
        for each in reversed(missing):
            each.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError:
        raise
    except OSError as error:
        raise Refused(f"{folder} cannot be made ({error.strerror}); {way_out}") from error


def ledger_path() -> Path:
    """Return the ledger's file."""
    return state_root() / "ledger.sqlite"


def search_progress_path(host: str) -> Path:
    """Return the file in which the search that goes on on a host tells how it stands."""
    return state_root() / f"tune-{host}.json"


@dataclass(frozen=True)
class RunPlaces:
    """The paths of one run."""

    run_id: str
    runtime: Path
    state: Path

    @property
    def rank_socket(self) -> str:
        """Where ranks connect."""
        return _ipc(self.runtime / _RANKS)

    @property
    def dashboard_socket(self) -> str:
        """Where dashboards and commands connect."""
        return _ipc(self.runtime / "dash.sock")

    @property
    def temporary(self) -> Path:
        """A trial's TMPDIR: short, for the sockets that programs make in it; removed with the trial."""
        return self.runtime / "tmp"

    @property
    def hub_lock(self) -> Path:
        """Held (flock) by the hub for as long as it lives."""
        return self.runtime / "hub.lock"

    @property
    def description(self) -> Path:
        """`run.json`: what was launched and how (a `RunDescription`)."""
        return self.state / "run.json"

    @property
    def exit_record(self) -> Path:
        """`exit.json`: written by the keeper when the training has ended."""
        return self.state / "exit.json"

    @property
    def stop_request(self) -> Path:
        """`stop.json`: written by whoever wants the training stopped; read by the keeper."""
        return self.state / "stop.json"

    @property
    def stepped(self) -> Path:
        """`stepped`: an empty file, made by the hub when the first step has arrived; read by the keeper."""
        return self.state / "stepped"

    @property
    def probed(self) -> Path:
        """`probed`: an empty file, made by the probe in a process of the run that imports torch."""
        return self.state / "probed"

    @property
    def settings_file(self) -> Path:
        """`settings.json`: what the probe is to apply."""
        return self.state / "settings.json"

    @property
    def console(self) -> Path:
        """Raw output of the training, bounded."""
        return self.state / "console.log"

    @property
    def recording(self) -> Path:
        """Folder of recording segments."""
        return self.state / "recording"

    @property
    def profiles(self) -> Path:
        """Folder of trace files and their analyses."""
        return self.state / "profiles"

    @property
    def summary(self) -> Path:
        """`summary.json`: written by the hub at the end."""
        return self.state / "summary.json"

    @property
    def relaunch(self) -> Path:
        """`relaunch.json`: progress of a relaunch, written by the tuner, read by the hub."""
        return self.state / "relaunch.json"

    @property
    def audit(self) -> Path:
        """`audit.jsonl`: who asked for what that changed anything."""
        return self.state / "audit.jsonl"

    @property
    def scratch(self) -> Path:
        """Where a trial's files go instead of the user's."""
        return self.state / "scratch"


def _ipc(path: Path) -> str:
    size = len(os.fsencode(path))
    if size > _SOCKET_PATH_MAX:
        raise UsageError(
            f"socket path of {size} bytes, the system allows {_SOCKET_PATH_MAX}: {path}; "
            "set PERFTUI_RUNTIME_DIR to a shorter directory"
        )
    return f"ipc://{path}"


def run_places(run_id: str) -> RunPlaces:
    """Return the paths of a run; nothing is made.

    Raises:
        NoSuchRun: the text cannot be a run's id, so that it never becomes a path.
    """
    if not RUN_ID.fullmatch(run_id):
        raise NoSuchRun(f"{run_id!r} is not a run; `perftui ls` lists them")
    return RunPlaces(run_id, runtime_root() / run_id, state_root() / "runs" / run_id)


def make_run_places(run_id: str) -> RunPlaces:
    """Return the paths of a new run with both folders made, private to the user.

    Raises:
        Refused: they cannot be made.
        UsageError: the path of a socket is too long.
    """
    places = run_places(run_id)
    _ipc(places.runtime / _RANKS)  # the longer of both: better now than a training that nobody sees
    for folder in (places.runtime, places.state, places.recording, places.profiles):
        _make(folder, "free space there, or name other folders by PERFTUI_RUNTIME_DIR and XDG_STATE_HOME")
    return places
