"""A command as a trial runs it: a launcher that restarts ranks would be measured as a slow run. Pure."""

from collections.abc import Sequence

NO_RESTARTS = {"PET_MAX_RESTARTS": "0"}
"""Environment of a trial: where torchrun takes the number from when no option names it."""
_OPTION = "--max-restarts"
HARMLESS = (
    "what trials save goes to a scratch folder; wandb, MLflow, Neptune, Comet, ClearML, SwanLab and uploads "
    "to the Hugging Face Hub are held off; what the script sends elsewhere itself, trials send too"
)
"""For whoever is asked whether trials may be launched."""


def without_restarts(command: Sequence[str]) -> list[str]:
    """Return the command with its launcher's `--max-restarts` set to 0; the script's own words stay."""
    changed = list(command)
    for place, word in enumerate(command):
        if word.endswith(".py"):
            break
        name, equals, _ = word.partition("=")
        if name.replace("_", "-") != _OPTION:
            continue
        if equals:
            changed[place] = f"{name}=0"
        elif place + 1 < len(command):
            changed[place + 1] = "0"
    return changed
