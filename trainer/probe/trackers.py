"""Keeps a trial's figures and weights at home where the script itself names a server.

Variables of the environment hold trackers off as long as nothing overrides them; these patches answer
`wandb.init(mode="online")`, `mlflow.set_tracking_uri("http://…")`, `comet_ml.Experiment()` and `push_to_hub`.
Each is made right after the library has been imported. A library that has no such call, or another one than
is expected, stays as it is. Standard library alone.
"""

import contextlib
import functools
import os
from collections.abc import Callable, Mapping
from types import ModuleType

from perftui.trainer.probe.border import Foreign

STAYS = frozenset({"disabled", "dryrun", "debug"})
"""Modes that hold a tracker off more strictly than `offline`."""
_OFFLINE = "offline"
_WITH_MODE = {"wandb": "init", "neptune": "init_run", "swanlab": "init"}
_MODE_VARIABLES = {"wandb": "WANDB_MODE", "neptune": "NEPTUNE_MODE", "swanlab": "SWANLAB_MODE"}
_COMMITS = ("create_commit", "upload_file", "upload_folder")
_SENDS = ("upload_large_folder", "preupload_lfs_files")
_KINDS = {"dataset": "datasets/", "space": "spaces/"}
_NO_COMMIT = "0" * 40

_Given = dict[str, Foreign]
_Change = Callable[[_Given], None]


def held_off(mlflow_uri: str) -> dict[str, Callable[[ModuleType], None]]:
    """Return what to do after which import.

    Args:
        mlflow_uri: where MLflow writes instead of what the script names.
    """

    def mlflow(module: ModuleType) -> None:
        _hold_mlflow(module, mlflow_uri)

    after: dict[str, Callable[[ModuleType], None]] = {
        **dict.fromkeys(_WITH_MODE, _hold_mode),
        "mlflow.tracking": mlflow,
        "mlflow": mlflow,
        "comet_ml": _hold_comet,
        "huggingface_hub.hf_api": _hold_hub,
    }
    return {name: _never_raising(act) for name, act in after.items()}


def _never_raising(act: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    def acted(module: ModuleType) -> None:
        with contextlib.suppress(Exception):  # the script's import must not fail by us
            act(module)

    return acted


def _hold_mode(module: ModuleType) -> None:
    library = module.__name__

    def offline(given: _Given) -> None:
        asked = given.get("mode") or os.environ.get(_MODE_VARIABLES[library])
        if asked not in STAYS:
            given["mode"] = _OFFLINE

    _alter(module, _WITH_MODE[library], "mode", offline)


def _hold_mlflow(module: ModuleType, uri: str) -> None:
    def at_home(given: _Given) -> None:
        given.update({name: uri for name in ("uri", "tracking_uri", "registry_uri") if given.get(name)})

    for name in ("set_tracking_uri", "set_registry_uri"):
        _alter(module, name, "uri", at_home)
    _alter(module, "MlflowClient", "tracking_uri", at_home)
    if module.__name__ == "mlflow":
        vars(module)["set_tracking_uri"](uri)  # also where the script sets the variable before it logs


def _hold_comet(module: ModuleType) -> None:
    _alter(module, "Experiment", "disabled", lambda given: given.update(disabled=True))
    _alter(module, "start", "online", lambda given: given.update(online=False))


def _alter(owner: ModuleType, name: str, parameter: str, change: _Change) -> None:
    """Have a function, or the making of a class, take what `change` makes of its arguments.

    One without that parameter stays as it is: it would not know what to do with it.
    """
    found: Foreign = vars(owner).get(name)
    is_class = isinstance(found, type)
    original: Foreign = vars(found).get("__init__") if isinstance(found, type) else found
    if original is None or hasattr(original, "_perftui_held_off"):
        return
    import inspect  # some milliseconds, for those alone who have such a library

    signature = inspect.signature(original)
    if parameter not in signature.parameters:
        return

    @functools.wraps(original)
    def call(*args: Foreign, **kwargs: Foreign) -> Foreign:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:  # the original says better what is wrong
            return original(*args, **kwargs)
        change(bound.arguments)
        return original(*bound.args, **bound.kwargs)

    vars(call)["_perftui_held_off"] = True
    setattr(found if is_class else owner, "__init__" if is_class else name, call)


def _hold_hub(module: ModuleType) -> None:
    """Answer what would be sent to the Hugging Face Hub as if it had arrived; reading goes on as before."""
    interface: Foreign = vars(module)["HfApi"]
    names = [name for name in (*_COMMITS, *_SENDS, "create_repo") if hasattr(interface, name)]
    for name in names:
        setattr(interface, name, _answered(module, getattr(interface, name)))
    for name in names:  # the functions of the module are methods bound before
        if name in vars(module) and "api" in vars(module):
            setattr(module, name, getattr(vars(module)["api"], name))


def _answered(module: Foreign, original: Foreign) -> Foreign:
    name: str = original.__name__

    @functools.wraps(original)
    def call(self: Foreign, *args: Foreign, **kwargs: Foreign) -> Foreign:
        def answer() -> Foreign:
            repo = kwargs.get("repo_id") or (args[0] if args else "")
            url = f"{self.endpoint}/{_KINDS.get(kwargs.get('repo_type') or '', '')}{repo}"
            if name == "create_repo":
                return module.RepoUrl(url, endpoint=self.endpoint)
            return _commit(module, url, kwargs) if name in _COMMITS else None

        return self.run_as_future(answer) if kwargs.get("run_as_future") else answer()

    return call


def _commit(module: Foreign, url: str, given: Mapping[str, Foreign]) -> Foreign:
    return module.CommitInfo(
        commit_url=f"{url}/commit/{_NO_COMMIT}",
        commit_message=given.get("commit_message") or "",
        commit_description="",
        oid=_NO_COMMIT,
    )
