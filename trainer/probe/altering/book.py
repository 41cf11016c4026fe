"""What is asked of this process, what became of it, and why something could not be applied.

Written in the training thread, read by the probe's thread: single assignments to dictionaries, no lock.
"""

from collections.abc import Iterable, Mapping

from perftui.ipc.settings import SettingValue

TORCH_ERRORS = (RuntimeError, TypeError, ValueError, AttributeError, LookupError, ImportError, AssertionError)
"""What torch raises where it does not take an argument or a module."""
_REASON_CHARACTERS = 300
_MODULE_SETTINGS = ("compile.", "precision.autocast", "layout.channels_last")


class AlterationBook:
    """The settings of this process but for those of loaders.

    Args:
        settings: all that the launch asks for.
        words: of each `arg.NAME`, the words that the script must find among its arguments.
    """

    def __init__(self, settings: Mapping[str, SettingValue], words: Mapping[str, list[str]]) -> None:
        self.asked: dict[str, SettingValue] = {
            name: value for name, value in settings.items() if not name.startswith(("loader", "env."))
        }
        self.words = dict(words)
        self.failed: dict[str, str] = {}
        """Settings that could not be applied, with the reason."""
        self.seen: dict[str, SettingValue] = {}
        """Settings that were found in force in the training thread, where alone they can be read."""

    def refuse(self, names: Iterable[str], reason: str) -> None:
        """These cannot be applied; the first reason stays."""
        line = " ".join(reason.split())
        for name in names:
            self.seen.pop(name, None)
            self.failed.setdefault(name, line[:_REASON_CHARACTERS])

    def names(self, *beginnings: str) -> list[str]:
        """Return what is asked for under these names and has not failed."""
        return [name for name in self.asked if name.startswith(beginnings) and name not in self.failed]

    def of_modules(self) -> list[str]:
        """Return what is asked of the module that is optimised, as far as it asks for something."""
        return [name for name in self.names(*_MODULE_SETTINGS) if self.asked[name] not in ("off", False)]
