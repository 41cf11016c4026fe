"""A person's configuration: what is read, what is told of each mistake, and the command that shows it."""

import json
import re
from pathlib import Path

import pytest

from perftui.ipc.errors import UsageError
from perftui.tui.cli import main
from perftui.tui.config.place import config_place, load_config
from perftui.tui.config.reading import line_of, read_config
from perftui.tui.config.settled import DEFAULT, PANEL_WORDS, Config
from perftui.tui.config.template import config_template
from perftui.tui.key_map import action_ids, keys_in_force


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this person's configuration is; nothing is there."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("PERFTUI_CONFIG", raising=False)
    return tmp_path / "perftui" / "config.toml"


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_everything_that_may_be_said_is_taken() -> None:
    text = """
        theme = "light"
        [rates]
        updates_per_s = 1
        [overview]
        panels = ["output", "ranks"]
        [keys]
        stop = "S"
        down = ["down", "J"]
        help = "f1"
        screenshot = "ctrl+g"
    """
    assert read_config(text, "f") == Config(
        theme="light",
        updates_per_s=1.0,
        panels=("ranks", "output"),
        keys={"stop": ("S",), "down": ("down", "J"), "help": ("f1",), "screenshot": ("ctrl+g",)},
    )
    assert read_config("", "f") == DEFAULT


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('theme = "drak"', 'f line 1: theme = "drak": expected auto, dark, light, contrast, contrast-light, '
         "ansi or ansi-light"),
        ("theme = 3", "f line 1: theme = 3: expected auto, dark, light, contrast, contrast-light, "
         "ansi or ansi-light"),
        ("\ncolour = 1", "f line 2: colour is not known; expected theme, rates, overview or keys"),
        ("rates = 3", "f line 1: rates = 3: expected a table, [rates]"),
        ("[rates]\nupdates_per_s = 50",
         "f line 2: rates.updates_per_s = 50: expected a number from 0.1 to 10"),
        ("[rates]\nupdates_per_s = true",
         "f line 2: rates.updates_per_s = True: expected a number from 0.1 to 10"),
        ('[overview]\npanels = ["ranks", "rank"]',
         "f line 2: overview.panels = ['ranks', 'rank']: expected a list of ranks, steps, findings, output "
         "or host"),
        ('[keys]\nstopp = "s"', "f line 2: keys.stopp is no action; expected stop"),
        ('[keys]\nxyzzy = "s"',
         "f line 2: keys.xyzzy is no action; expected a name that `perftui config` lists"),
        ('[keys]\nstop = "shift+a"', 'f line 2: keys.stop = "shift+a": write A'),
        ('[keys]\nstop = "ctrl+i"', 'f line 2: keys.stop = "ctrl+i": terminals send tab for it: write tab'),
        ("[keys]\nstop = 4",
         'f line 2: keys.stop = 4: expected a key in quotes, or a list of them, as in "s" or ["down", "j"]'),
        ("[keys]\nstop = []", "f line 2: keys.stop = []: expected one key at least"),
        ('[keys]\nstop = "q"',
         'f line 2: keys.stop = "q": `q` is detach on the overview: choose another key, or give that one '
         "another"),
        ("a b", "f: expected '=' after a key in a key/value pair (at line 1, column 3); nothing of it is in "
         "force"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_in_one_line_and_is_not_in_force(text: str, told: str) -> None:
    assert read_config(text, "f") == Config(mistakes=(told,))


def test_what_is_right_beside_a_mistake_holds() -> None:
    found = read_config('theme = "light"\ncolour = 1\n[keys]\nstop = "X"\nfreeze = "Q+"', "f")
    assert (found.theme, found.keys, len(found.mistakes)) == ("light", {"stop": ("X",)}, 2)


def test_two_actions_on_one_key_are_both_left_as_they_were() -> None:
    found = read_config('[keys]\nstop = "z"\nfreeze = "z"\nprofile = "b"', "f")
    assert found.keys == {"profile": ("b",)}
    assert [mistake.partition(": `")[2] for mistake in found.mistakes] == [
        "z` is freeze on the overview: choose another key, or give that one another",
        "z` is stop on the overview: choose another key, or give that one another",
    ]


def test_keys_can_be_exchanged() -> None:
    found = read_config('[keys]\nfreeze = "p"\nprofile = "space"', "f")
    assert found == Config(keys={"freeze": ("p",), "profile": ("space",)})


def test_a_line_is_found_in_its_own_table() -> None:
    lines = ["[keys]", 'theme = "x"', "[rates]", " 'theme' = 1", "[ overview ]", "panels=[]"]
    assert line_of(lines, "keys", "theme") == 2
    assert line_of(lines, "rates", "theme") == 4
    assert line_of(lines, "overview", "panels") == 6
    assert line_of(lines, "", "overview") == 5
    assert line_of(lines, "", "theme") is None


def test_control_characters_of_a_file_never_reach_the_screen() -> None:
    (told,) = read_config('theme = "a\\u001b]0;x\\u0007"', "f").mistakes
    assert told.isprintable()


def test_the_file_of_all_defaults_says_nothing_until_a_line_is_used() -> None:
    assert read_config(config_template(), "f") == DEFAULT
    used = re.sub(r"^# ([a-z0-9_-]+ = )", r"\1", config_template(), flags=re.MULTILINE)
    found = read_config(used, "f")
    assert found.mistakes == ()
    assert set(found.keys) == set(action_ids())
    assert (found.theme, found.updates_per_s, found.panels) == ("auto", 4.0, PANEL_WORDS)


def test_which_file_counts(tmp_path: Path) -> None:
    home = {"HOME": "/home/x"}
    assert config_place(None, home).path == Path("/home/x/.config/perftui/config.toml")
    relative = {**home, "XDG_CONFIG_HOME": "conf"}
    assert config_place(None, relative).path == Path("/home/x/.config/perftui/config.toml")
    absolute = {**home, "XDG_CONFIG_HOME": "/conf"}
    assert config_place(None, absolute).path == Path("/conf/perftui/config.toml")
    named = {**absolute, "PERFTUI_CONFIG": "/mine.toml"}
    assert config_place(None, named).path == Path("/mine.toml")
    assert config_place(tmp_path, named).path == tmp_path


def test_a_file_that_cannot_be_read_is_told(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_config() == DEFAULT
    own.mkdir(parents=True)
    assert load_config().mistakes == (f"{own} cannot be read: Is a directory",)
    gone = tmp_path / "gone.toml"
    with pytest.raises(UsageError, match=r"--config .* is not there"):
        load_config(gone)
    monkeypatch.setenv("PERFTUI_CONFIG", str(gone))
    assert load_config().mistakes == (f"{gone} is not there; `perftui config` prints what may stand in it",)
    gone.write_bytes(b"theme = \xff")
    assert "cannot be read" in load_config().mistakes[0]
    gone.write_bytes(b"#" * 1_000_001)
    assert load_config().mistakes == (f"{gone} cannot be read: it has more than 1,000,000 bytes",)


def test_the_command_prints_path_and_defaults(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"# {own}  (not there yet: `perftui config --write` creates it)\n")
    assert read_config(out, "f") == DEFAULT
    assert '# stop = "s" ' in out


def test_the_command_writes_the_file_once(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--write"]) == 0
    assert capsys.readouterr().out == f"{own}\n"
    assert own.read_text() == config_template()
    own.write_text("theme = 'light'\n")
    assert main(["config", "--write"]) == 4
    assert "is there already, and is not replaced" in capsys.readouterr().err
    assert own.read_text() == "theme = 'light'\n"


def test_the_command_tells_mistakes_and_what_is_in_force(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _written(own, 'theme = "light"\n[keys]\nstopp = "s"\nstop = "X"\n')
    assert main(["config"]) == 2
    assert capsys.readouterr().err == f"perftui: {own} line 3: keys.stopp is no action; expected stop\n"
    assert main(["config", "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["path"], document["exists"]) == (1, str(own), True)
    assert (document["theme"], document["keys"]["stop"]) == ("light", ["X"])
    assert set(document["keys"]) == set(keys_in_force())
    assert len(document["mistakes"]) == 1
