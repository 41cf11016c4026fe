"""Put first on PYTHONPATH by the launcher; runs at every start of Python in the training, so it does little.

It arms the probe: once `torch` has finished importing, the hooks are installed. Standard library alone, and
of that only what every Python has loaded already. A sitecustomize that was there before is run as ever.
"""

# pathlib costs milliseconds at every start of Python
# ruff: noqa: PTH100, PTH120

import os
import sys
from _frozen_importlib import ModuleSpec, module_from_spec
from _frozen_importlib_external import PathFinder

_HERE = os.path.dirname(os.path.abspath(__file__))


def _complain(where: str, error: Exception) -> None:
    sys.stderr.write(f"perftui: {where}: {type(error).__name__}: {error}; the training goes on without it\n")


def _make_importable() -> None:
    """Let `perftui` mean the installation that started this run."""
    rooms = os.environ.get("PERFTUI_ROOMS")
    if not rooms:
        return
    trainer = sys.modules.get("perftui.trainer")
    if trainer is not None:
        if os.path.realpath(os.path.dirname(trainer.__file__ or "")) == os.path.realpath(f"{rooms}/trainer"):
            return
        for name in [name for name in sys.modules if name == "perftui" or name.startswith("perftui.")]:
            del sys.modules[name]
    spec = ModuleSpec("perftui", None, is_package=True)
    spec.submodule_search_locations = [rooms]
    sys.modules["perftui"] = module_from_spec(spec)


def _install() -> None:
    try:
        _make_importable()
        from perftui.trainer.probe.install import install

        install()
    except Exception as error:  # noqa: BLE001 - the user's process comes first
        _complain("the probe could not be installed", error)


class _LoaderOfTorch:
    """Stands before torch's own loader for one import."""

    def __init__(self, loader: object) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> object:
        return self._loader.create_module(spec)  # type: ignore[attr-defined]

    def exec_module(self, module: object) -> None:
        spec = module.__spec__  # type: ignore[attr-defined]
        module.__loader__ = spec.loader = self._loader  # type: ignore[attr-defined]
        self._loader.exec_module(module)  # type: ignore[attr-defined]
        _install()


class _Finder:
    """Waits for the import of torch; a bare class, because importlib.abc costs milliseconds."""

    busy = False

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> "ModuleSpec | None":
        if name != "torch" or cls.busy:
            return None
        cls.busy = True
        try:
            for finder in sys.meta_path:
                find = None if finder is cls else getattr(finder, "find_spec", None)
                spec: ModuleSpec | None = None if find is None else find(name, path, target)
                if spec is not None:
                    if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                        spec.loader = _LoaderOfTorch(spec.loader)  # type: ignore[assignment]
                    return spec
            return None
        finally:
            cls.busy = False


def _protect_files() -> None:
    """In a trial: nothing of the user's may be written, so without protection nothing runs."""
    try:
        _make_importable()
        from perftui.trainer.probe.trial import before_script

        before_script()
    except Exception as error:  # noqa: BLE001 - whatever it is, the files come first
        sys.stderr.write(f"perftui: this trial cannot protect your files and ends ({error!r})\n")
        sys.stderr.flush()
        os._exit(70)


def _arm() -> None:
    environment = os.environ
    if environment.get("PERFTUI_OFF") == "1":
        return
    if not environment.get("PERFTUI_RUN_ID") and not environment.get("PERFTUI_ARM"):
        return
    if environment.get("PERFTUI_TRIAL") == "1":
        _protect_files()
    sys.meta_path.insert(0, _Finder)


def _run_the_next() -> None:
    """Run the sitecustomize that would have been found without us; what it raises is the user's to see."""
    others = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_arm()
_run_the_next()
