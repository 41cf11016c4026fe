"""What the training's environment gets, and what stays the user's."""

from pathlib import Path

from perftui.ipc.places import run_places
from perftui.trainer.launch.environment import (
    clean_environment,
    inject_folder,
    rooms_folder,
    training_additions,
    with_inject_folder,
)
from perftui.trainer.launch.interpreter import InterpreterCheck
from perftui.trainer.launch.spec import LaunchSpec

CUDA = InterpreterCheck(torch="2.14.1+cu130", torch_cuda="13.0")


def additions(
    environment: dict[str, str], check: InterpreterCheck = CUDA, **fields: object
) -> dict[str, str]:
    spec = LaunchSpec(["python"], Path("/"), **fields)  # type: ignore[arg-type]
    return training_additions(run_places("some-run"), spec, check, environment)


def test_the_rooms_are_there() -> None:
    assert {"ipc", "trainer"} <= {path.name for path in rooms_folder().iterdir()}
    assert inject_folder().is_dir()


def test_the_users_python_path_stays_whole() -> None:
    ours = str(inject_folder())
    assert with_inject_folder(None) == ours
    assert with_inject_folder(":/a") == f"{ours}::/a"
    assert with_inject_folder(f"/a:{ours}:/b") == f"{ours}:/a:/b"


def test_the_users_own_values_win() -> None:
    added = additions({"KINETO_LOG_LEVEL": "2", "TEARDOWN_CUPTI": "0"})
    assert (added["KINETO_LOG_LEVEL"], added["TEARDOWN_CUPTI"]) == ("2", "0")
    assert additions({})["KINETO_LOG_LEVEL"] == "6"
    assert additions({})["TEARDOWN_CUPTI"] == "1"


def test_cupti_is_left_alone_where_nothing_is_known() -> None:
    assert "TEARDOWN_CUPTI" not in additions({}, InterpreterCheck(problem="not asked"))


def test_settings_and_extras_are_applied() -> None:
    added = additions({}, settings={"env.OMP_NUM_THREADS": 3, "loader.num_workers": 2}, env={"EXTRA": "x"})
    assert (added["OMP_NUM_THREADS"], added["EXTRA"]) == ("3", "x")
    assert "PERFTUI_TRIAL" not in added
    assert "PYTHONUNBUFFERED" not in added
    assert additions({}, stdio="log")["PYTHONUNBUFFERED"] == "1"


def test_trackers_of_a_trial_stay_offline_and_write_to_scratch() -> None:
    added = additions({"WANDB_MODE": "online"}, trial=True)
    assert (added["PERFTUI_TRIAL"], added["WANDB_MODE"]) == ("1", "offline")
    assert added["WANDB_DIR"] == str(run_places("some-run").scratch)


def test_a_run_inside_a_run_is_a_run_of_its_own() -> None:
    outer = {**additions({"PYTHONPATH": "/mine"}), "HOME": "/home/me", "PERFTUI_RUNTIME_DIR": "/r"}
    cleaned = clean_environment(outer)
    assert cleaned["PYTHONPATH"] == "/mine"
    assert cleaned["PERFTUI_RUNTIME_DIR"] == "/r"
    assert not {name for name in cleaned if name.startswith("PERFTUI_RUN_")}
    assert "PYTHONPATH" not in clean_environment(additions({}))
