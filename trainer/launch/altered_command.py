"""The command as settings want it: torchrun's ranks and the script's own arguments, as words. Pure."""

from perftui.ipc.argument_templates import tokens_of, with_argument
from perftui.ipc.settings import check_together, format_value, setting
from perftui.ipc.torchrun_words import with_nproc
from perftui.trainer.launch.spec import LaunchSpec

_NPROC = "torchrun.nproc_per_node"


def altered_command(spec: LaunchSpec) -> list[str]:
    """Return the words to start; the spec's own command stays what the user wrote.

    Raises:
        UsageError: a setting that does not exist, or an argument that is not mapped.
        Refused: settings that exclude each other, or ranks for a command that is none of torchrun's.
    """
    check_together(spec.settings)
    command = list(spec.command)
    for name, value in spec.settings.items():
        setting(name, spec.arguments)
        if name == _NPROC and isinstance(value, int):
            command = with_nproc(command, value)
        elif name.startswith("arg."):
            command = with_argument(command, spec.arguments[name[4:]], format_value(value))
    return command


def argument_words(spec: LaunchSpec) -> dict[str, list[str]]:
    """Return for each `arg.NAME` that is set the words that the script must find among its arguments."""
    return {
        name: tokens_of(spec.arguments[name[4:]], format_value(value))
        for name, value in spec.settings.items()
        if name.startswith("arg.")
    }
