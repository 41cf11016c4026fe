"""Runs a function right after a module has been imported; bare classes, importlib.abc costs milliseconds."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from perftui.trainer.probe.border import Foreign

_Then = Callable[[ModuleType], None]


class _Loader:
    """Stands before a module's own loader for one import."""

    def __init__(self, loader: Foreign, then: _Then) -> None:
        self._loader = loader
        self._then = then

    def __getattr__(self, name: str) -> Foreign:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then(module)


class AfterImport:
    """A finder for `sys.meta_path`.

    Args:
        then: what to run, by the name of the module.
    """

    def __init__(self, then: Mapping[str, _Then]) -> None:
        self._then = dict(then)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find as the other finders do, and arrange for what comes after."""
        then = self._then.pop(name, None)
        if then is None:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if find is None else find(name, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, then)  # type: ignore[assignment]
                return spec
        return None


def after_import(then: Mapping[str, _Then]) -> None:
    """Arrange for `then`; modules that are there already are served at once."""
    waiting: dict[str, _Then] = {}
    for name, act in then.items():
        module = sys.modules.get(name)
        if module is None:
            waiting[name] = act
        else:
            act(module)
    sys.meta_path.insert(0, AfterImport(waiting))
