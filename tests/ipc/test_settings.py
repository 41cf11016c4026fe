"""`--set name=value`: what is taken, and the one line for what is not."""

import pytest

from perftui.ipc.argument_templates import ArgumentTemplate
from perftui.ipc.errors import Refused, UsageError
from perftui.ipc.settings import (
    Settings,
    SettingValue,
    check_values,
    combined,
    environment_of,
    format_value,
    parse_assignment,
    parse_assignments,
    semantics_of,
    setting,
)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("loader.num_workers=4", "loader.num_workers", 4),
        (" loader.num_workers = 0 ", "loader.num_workers", 0),
        ("loader[1].num_workers=512", "loader[1].num_workers", 512),
        ("loader.pin_memory=true", "loader.pin_memory", True),
        ("loader.pin_memory=ON", "loader.pin_memory", True),
        ("loader.persistent_workers=no", "loader.persistent_workers", False),
        ("loader.persistent_workers=0", "loader.persistent_workers", False),
        ("loader.multiprocessing_context=spawn", "loader.multiprocessing_context", "spawn"),
        ("env.OMP_NUM_THREADS=1", "env.OMP_NUM_THREADS", "1"),
        ("env.NCCL_SOCKET_IFNAME=a=b", "env.NCCL_SOCKET_IFNAME", "a=b"),
        ("compile.mode=reduce-overhead", "compile.mode", "reduce-overhead"),
        ("compile.backend=aot_eager", "compile.backend", "aot_eager"),
        ("precision.autocast=bf16", "precision.autocast", "bf16"),
        ("debug.launch_blocking=off", "debug.launch_blocking", False),
        ("ddp.bucket_cap_mb=100", "ddp.bucket_cap_mb", 100),
    ],
)
def test_what_is_taken(text: str, name: str, value: SettingValue) -> None:
    found = parse_assignment(text)
    assert found == (name, value)
    assert type(found[1]) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "loader.num_workers",
            "'loader.num_workers': a setting is written name=value, as in loader.num_workers=4",
        ),
        ("=4", "'=4': a setting is written name=value, as in loader.num_workers=4"),
        ("loader.num_workers=four", "loader.num_workers='four': expected a whole number"),
        ("loader.num_workers=", "loader.num_workers='': expected a whole number"),
        ("loader.num_workers=-1", "loader.num_workers=-1: expected 0 to 512"),
        ("loader.num_workers=513", "loader.num_workers=513: expected 0 to 512"),
        ("loader.prefetch_factor=0", "loader.prefetch_factor=0: expected 1 to 64"),
        ("loader.pin_memory=maybe", "loader.pin_memory='maybe': expected true or false"),
        (
            "loader.multiprocessing_context=thread",
            "loader.multiprocessing_context='thread': expected one of fork, spawn, forkserver",
        ),
        (
            "compile.backend=in ductor",
            "compile.backend='in ductor': expected the name of a backend, as in inductor",
        ),
        ("ddp.bucket_cap_mb=0", "ddp.bucket_cap_mb=0: expected 1 to 4096"),
        ("precision.autocast=true", "precision.autocast='true': expected one of off, bf16, fp16"),
        (
            "env.LD_PRELOAD=/tmp/x.so",
            "env.LD_PRELOAD: this environment variable is not on the list that perftui sets",
        ),
    ],
)
def test_what_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_assignment(text)
    assert str(refused.value) == message
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    "name", ["loader.workers", "loader[x].num_workers", "loader[0].depth", "num_workers"]
)
def test_an_unknown_name_lists_the_known_ones(name: str) -> None:
    with pytest.raises(UsageError, match=r"unknown setting .*; known: .*loader\.num_workers.*, env\.NAME"):
        setting(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("num_workers", "loader.num_workers"),
        ("loader.num_worker", "loader.num_workers"),
        ("tf32", "precision.tf32"),
        ("OMP_NUM_THREADS", "env.OMP_NUM_THREADS"),
    ],
)
def test_an_unknown_name_is_answered_with_the_one_that_may_be_meant(name: str, meant: str) -> None:
    with pytest.raises(UsageError, match=rf"unknown setting '{name}': did you mean {meant}; known: "):
        setting(name)


@pytest.mark.parametrize(
    "name", ["PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "AWS_SECRET_ACCESS_KEY", "NCCL_x\nY"]
)
def test_variables_that_load_code_or_name_secrets_cannot_be_set(name: str) -> None:
    with pytest.raises(UsageError):
        parse_assignment(f"env.{name}=1")


def test_the_same_name_twice_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"loader\.num_workers is set twice"):
        parse_assignments(["loader.num_workers=1", "loader.num_workers=2"])


def test_environment_variables_are_told_apart() -> None:
    found = parse_assignments(["loader.num_workers=1", "env.OMP_NUM_THREADS=2"])
    assert environment_of(found) == {"OMP_NUM_THREADS": "2"}
    assert semantics_of(found) == "neutral"
    assert semantics_of({}) == "neutral"
    assert semantics_of({"env.NVIDIA_TF32_OVERRIDE": "1"}) == "numeric"
    assert semantics_of({"env.CUDA_DEVICE_MAX_CONNECTIONS": "1"}) == "neutral"


def test_values_are_written_as_they_are_read() -> None:
    for text in ("loader.pin_memory=true", "loader.num_workers=3", "env.OMP_NUM_THREADS=1"):
        name, value = parse_assignment(text)
        assert f"{name}={format_value(value)}" == text


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (
            ["precision.tf32=true", "precision.autocast=bf16"],
            "precision.tf32=true and precision.autocast=bf16",
        ),
        (["optimizer.fused=on", "optimizer.foreach=on"], "optimizer.fused=true and optimizer.foreach=true"),
        (["compile.mode=off", "compile.dynamic=true"], "compile.mode=off and compile.dynamic"),
        (["compile.backend=eager", "compile.mode=max-autotune"], "modes are inductor's"),
    ],
)
def test_two_of_one_group_are_refused_with_the_reason(texts: list[str], words: str) -> None:
    with pytest.raises(Refused, match=words) as refused:
        parse_assignments(texts)
    assert "exclude each other: " in str(refused.value)
    assert refused.value.exit_code == 4


@pytest.mark.parametrize(
    "texts",
    [
        ["precision.tf32=false", "precision.autocast=bf16"],
        ["precision.tf32=true", "precision.autocast=off"],
        ["optimizer.fused=true", "optimizer.foreach=false"],
        ["compile.mode=default", "compile.backend=eager"],
        ["compile.mode=off", "precision.tf32=true"],
    ],
)
def test_what_goes_together(texts: list[str]) -> None:
    assert len(parse_assignments(texts)) == 2


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"loader.num_workers": 1}, {"loader.num_workers": 2}, {"loader.num_workers": 2}),
        ({"precision.tf32": True}, {"precision.autocast": "bf16"}, {"precision.autocast": "bf16"}),
        ({"precision.tf32": False}, {"precision.autocast": "bf16"},
         {"precision.tf32": False, "precision.autocast": "bf16"}),
        ({"compile.dynamic": True, "gc.freeze": True}, {"compile.mode": "off"},
         {"gc.freeze": True, "compile.mode": "off"}),
    ],
)  # fmt: skip
def test_a_change_takes_the_slot_of_its_group(before: Settings, change: Settings, after: Settings) -> None:
    assert combined(before, change) == after


def test_arguments_of_the_script_are_settings_once_they_are_mapped() -> None:
    mapped = {"bs": ArgumentTemplate("--bs {value}"), "every": ArgumentTemplate("--every {value}", "neutral")}
    assert parse_assignment("arg.bs=8", mapped) == ("arg.bs", "8")
    assert semantics_of({"arg.bs": "8"}, mapped) == "changes-training"
    assert semantics_of({"arg.every": "8"}, mapped) == "neutral"
    with pytest.raises(UsageError, match=r"arg\.bs: perftui does not know how .* \(none is mapped\)"):
        setting("arg.bs")
    with pytest.raises(UsageError, match="expected a value"):
        parse_assignment("arg.bs=", mapped)


def test_what_is_set_in_the_environment_for_settings_of_other_names() -> None:
    assert environment_of({"debug.launch_blocking": False}) == {"CUDA_LAUNCH_BLOCKING": "0"}
    assert environment_of({"debug.launch_blocking": True}) == {"CUDA_LAUNCH_BLOCKING": "1"}
    assert environment_of({"compile.mode": "off"}) == {
        "TORCH_COMPILE_DISABLE": "1",
        "TORCHDYNAMO_DISABLE": "1",
    }
    assert environment_of({"compile.mode": "default"}) == {}


@pytest.mark.parametrize(
    "name",
    ["NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN", "NCCL_DEBUG_FILE", "NCCL_CONF_FILE",
     "NCCL_TOPO_DUMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "LD_PRELOAD", "PYTHONPATH", "HF_TOKEN"],
)  # fmt: skip
def test_no_variable_is_set_that_loads_code_writes_files_or_names_a_secret(name: str) -> None:
    with pytest.raises(UsageError, match="not on the list"):
        setting(f"env.{name}")


@pytest.mark.parametrize(
    "value", ["a\0b", "a\nb", "\x1b[31m", "x" * 5000, "prof:true,prof_prefix:/home/me/x"]
)
def test_values_of_text_are_text_and_no_path_for_the_environment(value: str) -> None:
    with pytest.raises(UsageError, match=r"env\.MALLOC_CONF"):
        parse_assignment(f"env.MALLOC_CONF={value}")


def test_settings_that_come_as_data_are_held_to_the_same() -> None:
    check_values({"loader.num_workers": 4, "precision.tf32": True, "compile.mode": "default"})
    check_values({"loader[1].num_workers": 4, "env.OMP_NUM_THREADS": "4", "compile.backend": "inductor"})
    for bad in (
        {"loader.num_workers": 100_000},
        {"loader.num_workers": -1},
        {"loader.num_workers": "4"},
        {"loader.num_workers": True},
        {"loader.num_workers": None},
        {"precision.tf32": 1},
        {"compile.mode": "fastest"},
        {"compile.backend": "os.system"},
        {"env.OMP_NUM_THREADS": "4\0"},
        {"no.such": 1},
    ):
        with pytest.raises(UsageError):
            check_values(bad)  # type: ignore[arg-type]
