"""Names of loaders' settings, taken apart and put together."""

import pytest

from perftui.ipc.loader_names import join_name, split_name


@pytest.mark.parametrize(
    ("name", "place"),
    [("loader.num_workers", (0, "num_workers")), ("loader[2].pin_memory", (2, "pin_memory"))],
)
def test_a_name_is_a_loader_and_its_argument(name: str, place: tuple[int, str]) -> None:
    assert split_name(name) == place
    assert join_name(*place) == name


@pytest.mark.parametrize("name", ["env.OMP_NUM_THREADS", "loader[x].timeout", "loader[1]timeout", "loader."])
def test_other_settings_name_no_loader(name: str) -> None:
    assert split_name(name) is None
