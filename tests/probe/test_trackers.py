"""A script that names its server itself: in a trial neither figures nor weights reach it.

The libraries in here are stand-ins of their names, with the calls that matter; whatever they would send is
noted in `sent`.
"""

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from perftui.trainer.probe.after_import import after_import
from perftui.trainer.probe.trackers import held_off
from tests.probe.trial_project import project, trial

__all__ = ["project", "trial"]

LIBRARIES = {
    "wandb.py": """
        def init(project=None, config=None, mode=None):
            return mode
    """,
    "swanlab.py": """
        def init(project=None, *, mode=None, **others):
            return mode
    """,
    "neptune.py": """
        class Run:
            def __init__(self, with_id=None, *, mode="async"):
                self.mode = mode
        init_run = Run
    """,
    "comet_ml.py": """
        class Experiment:
            def __init__(self, api_key=None, workspace=None, disabled=False):
                self.disabled, self.workspace = disabled, workspace
        class ExistingExperiment(Experiment):
            def __init__(self, api_key=None, **others):
                super().__init__(api_key, **others)
        def start(workspace=None, *, online=None):
            return online
    """,
    "mlflow/__init__.py": """
        from mlflow.tracking import MlflowClient, get_tracking_uri, set_registry_uri, set_tracking_uri
    """,
    "mlflow/tracking/__init__.py": """
        import os
        now = {}
        class MlflowClient:
            def __init__(self, tracking_uri=None, registry_uri=None):
                self.uris = (tracking_uri or get_tracking_uri(), registry_uri)
        def set_tracking_uri(uri):
            now["tracking"] = uri
        def set_registry_uri(uri):
            now["registry"] = uri
        def get_tracking_uri():
            return now.get("tracking") or os.environ["MLFLOW_TRACKING_URI"]
    """,
    "huggingface_hub/__init__.py": """
        def __getattr__(name):
            import importlib
            return getattr(importlib.import_module("huggingface_hub.hf_api"), name)
    """,
    "huggingface_hub/hf_api.py": """
        from concurrent.futures import ThreadPoolExecutor
        sent = []
        class RepoUrl(str):
            def __new__(cls, url, endpoint=None):
                return super().__new__(cls, url)
            def __init__(self, url, endpoint=None):
                self.repo_id = "/".join(url.split("/")[-2:])
        class CommitInfo:
            def __init__(self, commit_url, commit_message, commit_description, oid, pr_url=None):
                self.commit_url, self.oid, self.pr_url = commit_url, oid, pr_url
        class HfApi:
            endpoint = "https://hub"
            def run_as_future(self, act, *args, **kwargs):
                return ThreadPoolExecutor().submit(act, *args, **kwargs)
            def model_info(self, repo_id):
                return "info of " + repo_id
            def create_repo(self, repo_id, *, repo_type=None, exist_ok=False):
                sent.append("create_repo")
            def create_commit(self, repo_id, operations, *, commit_message, run_as_future=False):
                sent.append("create_commit")
            def upload_file(self, *, path_or_fileobj, path_in_repo, repo_id, repo_type=None):
                sent.append("upload_file")
            def upload_folder(self, *, repo_id, folder_path, commit_message=None, run_as_future=False):
                sent.append("upload_folder")
            def upload_large_folder(self, repo_id, folder_path, *, repo_type):
                sent.append("upload_large_folder")
        api = HfApi()
        create_repo, upload_folder, model_info = api.create_repo, api.upload_folder, api.model_info
    """,
}

CASES = {
    "trackers that are told to be online": """
        import comet_ml, neptune, swanlab, wandb
        for mode in ("online", "shared", None):
            assert wandb.init("mine", mode=mode) == "offline", mode
        assert wandb.init("mine", {}, "online") == "offline"
        assert wandb.init(mode="disabled") == "disabled"
        assert swanlab.init("mine", mode="cloud", tags=["a"]) == "offline"
        assert neptune.init_run(mode="sync").mode == neptune.Run().mode == "offline"
        assert isinstance(neptune.init_run(mode="debug"), neptune.Run)
        assert neptune.init_run(mode="debug").mode == "debug"
        made = comet_ml.Experiment("key", "mine")
        assert (made.disabled, made.workspace) == (True, "mine")
        assert comet_ml.ExistingExperiment("key").disabled
        assert comet_ml.start(online=True) is comet_ml.start() is False
    """,
    "a stricter mode of the environment": """
        os.environ["WANDB_MODE"] = "disabled"
        import wandb
        assert wandb.init() is None
        assert wandb.init(mode="online") == "offline"
    """,
    "the script sets the variables itself": """
        os.environ |= {"WANDB_MODE": "online", "MLFLOW_TRACKING_URI": "http://server"}
        import mlflow, wandb
        assert wandb.init() == "offline"
        assert mlflow.get_tracking_uri().startswith("file:///")
    """,
    "mlflow by any of its doors": """
        import mlflow
        from mlflow.tracking import MlflowClient, set_tracking_uri
        import mlflow.tracking
        for given in (mlflow.set_tracking_uri, set_tracking_uri):
            for uri in ("http://server", "databricks", "sqlite:///mlflow.db"):
                given(uri)
                assert mlflow.get_tracking_uri().startswith("file:///"), uri
        mlflow.set_registry_uri(uri="http://server")
        assert mlflow.tracking.now["registry"].startswith("file:///")
        assert mlflow.get_tracking_uri().endswith("/mlruns")
        uris = MlflowClient("http://server", registry_uri="http://server").uris
        assert uris == mlflow.MlflowClient(tracking_uri="http://server", registry_uri="x").uris
        assert uris == (mlflow.get_tracking_uri(),) * 2
        assert MlflowClient().uris == (mlflow.get_tracking_uri(), None)
    """,
    "push to the hub": """
        import huggingface_hub
        from huggingface_hub import HfApi, create_repo, upload_folder
        from huggingface_hub.hf_api import sent
        assert create_repo("me/model", exist_ok=True).repo_id == "me/model"
        assert create_repo("me/data", repo_type="dataset") == "https://hub/datasets/me/data"
        done = upload_folder(repo_id="me/model", folder_path=".", run_as_future=True).result()
        assert done.commit_url.startswith("https://hub/me/model/commit/0")
        assert done.pr_url is None
        api = HfApi()
        api.create_commit("me/model", [], commit_message="one")
        api.upload_file(path_or_fileobj="a", path_in_repo="a", repo_id="me/model")
        assert api.upload_large_folder("me/model", ".", repo_type="model") is None
        assert huggingface_hub.model_info("me/model") == "info of me/model"
        assert sent == []
    """,
    "wrong arguments are told by the library": """
        import wandb
        try:
            wandb.init(no_such=1)
        except TypeError as error:
            assert "no_such" in str(error)
        else:
            raise AssertionError
    """,
}


@pytest.fixture
def libraries(project: Path) -> Path:
    folder = project.parent / "libraries"
    for name, text in LIBRARIES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text))
    return folder


@pytest.mark.parametrize("case", CASES)
def test_what_the_script_names_is_not_reached(
    trial: Callable[[str], "subprocess.CompletedProcess[str]"], libraries: Path, case: str
) -> None:
    done = trial(f"import sys; sys.path.insert(0, {str(libraries)!r})\n" + textwrap.dedent(CASES[case]))
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize(
    "text",
    ["", "init = 3", "def init(*args):\n    return args", "def init(project):\n    return (project,)"],
)
def test_a_library_that_is_not_as_expected_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "wandb.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    after_import(held_off("file:///scratch/mlruns"))
    import wandb  # type: ignore[import-not-found,unused-ignore]

    made = getattr(wandb, "init", None)
    if callable(made):
        assert made("online") == ("online",)
    monkeypatch.delitem(sys.modules, "wandb")
