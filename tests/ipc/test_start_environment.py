"""The locale a process was started in, which Python hides from it."""

import os
import subprocess
import sys

import pytest

from perftui.ipc.start_environment import speaks_utf8

CHECK = """
import os
from perftui.ipc.start_environment import start_environment
print(os.environ.get("LC_CTYPE"), start_environment().get("LC_CTYPE"))
"""


def in_locale(**said: str) -> str:
    base = {name: value for name, value in os.environ.items() if name not in ("LANG", "LC_ALL", "LC_CTYPE")}
    words = [sys.executable, "-c", CHECK]
    return subprocess.run(words, env={**base, **said}, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_python_has_put_there_is_not_what_was_said() -> None:
    assert in_locale(LANG="C").split()[1] == "None"
    assert in_locale(LC_CTYPE="C.UTF-8").split() == ["C.UTF-8", "C.UTF-8"]


@pytest.mark.parametrize(
    ("environ", "utf8"),
    [
        ({"LANG": "de_DE.UTF-8"}, True),
        ({"LANG": "C.utf8"}, True),
        ({"LC_ALL": "C", "LC_CTYPE": "C.UTF-8", "LANG": "de_DE.UTF-8"}, False),
        ({"LC_CTYPE": "de_DE@euro", "LANG": "de_DE.UTF-8"}, False),
        ({"LC_ALL": "", "LANG": "en_US.UTF-8"}, True),
        ({"LC_ALL": ""}, None),
    ],
)
def test_the_first_variable_that_says_something_decides(environ: dict[str, str], utf8: bool | None) -> None:
    assert speaks_utf8(environ) is utf8
