"""docs/protocol.md against the code, both ways: every message kind, every struct, every field, every flag."""

import inspect
import re
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from perftui.ipc import (
    codec,
    dashboard_messages,
    facts,
    findings,
    frame_checks,
    gpu_view,
    host_links,
    host_messages,
    host_view,
    hub_sockets,
    ledger_records,
    loader_facts,
    mark,
    messages,
    rank_link,
    rank_map,
    recording,
    search_view,
    step_history,
    view,
    worker_stacks,
)
from perftui.trainer.hub import allowance

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "protocol.md").read_text()
MODULES = (
    messages,
    facts,
    dashboard_messages,
    view,
    gpu_view,
    host_view,
    host_links,
    host_messages,
    findings,
    ledger_records,
    loader_facts,
    mark,
    recording,
    rank_map,
    search_view,
    step_history,
    worker_stacks,
)
HEADING = re.compile(r"^#### (?:`(?P<tag>\w+)` \((?P<message>\w+)\)|(?P<struct>\w+))$", re.MULTILINE)


def _structs(module: ModuleType) -> dict[str, type[msgspec.Struct]]:
    return {
        name: kind
        for name, kind in vars(module).items()
        if inspect.isclass(kind)
        and issubclass(kind, msgspec.Struct)
        and kind.__module__ == module.__name__
        and not name.startswith("_")
    }


CODE = {name: kind for module in MODULES for name, kind in _structs(module).items()}


def _sections() -> dict[str, str]:
    found = list(HEADING.finditer(TEXT))
    ends = [match.start() for match in found[1:]] + [len(TEXT)]
    return {
        match["message"] or match["struct"]: TEXT[match.start() : end].split("\n## ")[0].split("\n### ")[0]
        for match, end in zip(found, ends, strict=True)
    }


SECTIONS = _sections()


def _own_fields(kind: type[msgspec.Struct]) -> list[str]:
    inherited = () if kind is messages.RankMessage else messages.RankMessage.__struct_fields__
    if not issubclass(kind, messages.RankMessage):
        inherited = ()
    return [field for field in kind.__struct_fields__ if field not in inherited]


def test_the_document_has_every_struct_and_no_other() -> None:
    assert set(SECTIONS) == set(CODE)


@pytest.mark.parametrize("name", sorted(CODE))
def test_every_field_is_documented_and_none_is_invented(name: str) -> None:
    rows = re.findall(r"^\| `(\w+)` \|", SECTIONS[name].split("\nBits of")[0], re.MULTILINE)
    assert rows == _own_fields(CODE[name])


@pytest.mark.parametrize("name", sorted(CODE))
def test_every_default_is_the_documented_one(name: str) -> None:
    documented = dict(re.findall(r"^\| `(\w+)` \| `.*?` \| (.*?) \|", SECTIONS[name], re.MULTILINE))
    required = {field.name for field in msgspec.structs.fields(CODE[name]) if field.required}
    own = _own_fields(CODE[name])
    assert {field for field in own if not documented[field].strip()} == required & set(own)


def test_every_kind_is_documented_under_its_tag() -> None:
    documented = {match["message"]: match["tag"] for match in HEADING.finditer(TEXT) if match["tag"]}
    tagged = {name: kind.__struct_config__.tag for name, kind in CODE.items() if name != "RankMessage"}
    assert documented == {name: tag for name, tag in tagged.items() if tag}


def test_flags_are_documented() -> None:
    documented = {
        name: int(bit) for bit, name in re.findall(r"^\| (\d+) \| `(FLAG_\w+)` \|", TEXT, re.MULTILINE)
    }
    assert documented == {name: bit for name, bit in vars(messages).items() if name.startswith("FLAG_")}


def test_version_and_limits_are_documented() -> None:
    assert f"**Protocol version {messages.PROTOCOL_VERSION}.**" in TEXT
    assert f"* **{messages.PROTOCOL_VERSION}**:" in TEXT
    assert f"A frame has {codec.MAX_FRAME_BYTES // 2**20} MiB at most" in TEXT
    assert f"a rank and its hub has {codec.MAX_RANK_FRAME_BYTES // 1024} KiB at most" in TEXT
    assert f"a dashboard or a command has {codec.MAX_COMMAND_BYTES // 1024} KiB at most" in TEXT
    assert f"more than {frame_checks.SMALL_FRAME_BYTES // 1024} KiB" in TEXT
    assert f"with {frame_checks.STEPS_PER_FRAME_MAX} steps at most" in TEXT
    assert f"A hub keeps {frame_checks.RANKS_MAX} ranks" in TEXT
    assert f"0 to {frame_checks.RANKS_MAX - 1}, a world has {frame_checks.WORLD_MAX} ranks" in TEXT
    of_a_rank, of_a_command = allowance.OF_A_RANK, allowance.OF_A_COMMAND
    assert f"A rank sends {of_a_rank.frames_per_s:.0f} frames" in TEXT
    assert f"at once {of_a_rank.frames_at_once:.0f} frames" in TEXT
    assert f"A dashboard sends {of_a_command.frames_per_s:.0f} commands" in TEXT
    assert f"{of_a_command.frames_at_once:.0f} at once" in TEXT
    assert f"A rank queues {rank_link.QUEUED_FRAMES} frames" in TEXT
    assert f"the hub {hub_sockets.QUEUED_FRAMES} for each peer" in TEXT
