"""The command line: `python -m benchmarks.rivals`."""

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.rivals.arms import PACKAGES, Arm, ToolName, arms_for
from benchmarks.rivals.campaign import Pipeline, play_round
from benchmarks.rivals.cells import CELLS, Group, chosen_groups
from benchmarks.rivals.family import adopt_orphans
from benchmarks.rivals.records import Settings
from benchmarks.rivals.results import Results, head_of, joined, read_results, write_results
from benchmarks.rivals.table import markdown
from benchmarks.rivals.tools import versions_in

Plans = list[tuple[Group, list[Arm]]]


def main() -> int:
    """Run rounds until all are done or the time is up, or print a table."""
    parser = _parser()
    args = parser.parse_args()
    if args.table is None and args.json is None:
        parser.error("say where the result goes: --json FILE")
    try:
        if args.table is not None:
            sys.stdout.write(markdown(joined(args.table)))
            return 0
        return _measure(args)
    except ValueError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        _say("stopped; the round in hand is lost, the same command goes on with it")
        return 130


def _measure(args: argparse.Namespace) -> int:
    groups = chosen_groups(args.cells)
    plans = [(group, arms_for(args.device or group.device, args.arms)) for group in groups]
    adopt_orphans()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that what runs is ended
    deadline = time.monotonic() + args.minutes * 60
    with tempfile.TemporaryDirectory(prefix="rv-jpeg-") as pictures:
        settings = Settings(
            pythons=_pythons(args.python, plans),
            scale=args.scale,
            device=args.device,
            ahead=args.ahead,
            timeout_s=args.timeout,
            pictures=_pictures(groups, Path(pictures)),
        )
        results = _results(args, settings, plans)
        play = _play_overlapping if settings.ahead else _play_in_turn
        if not play(args, settings, plans, results, deadline):
            _say("the time is up; the same command goes on with the next round")
    return 0


def _play_in_turn(
    args: argparse.Namespace, settings: Settings, plans: Plans, results: Results, deadline: float
) -> bool:
    """Play all groups round by round; return False when the time did not suffice."""
    longest_s: dict[str, float] = {}
    for number in range(args.first_round, args.first_round + args.rounds):
        for group, arms in plans:
            if number in results.rounds_done(group.name):
                continue
            began = time.monotonic()
            if began + longest_s.get(group.name, 0.0) > deadline:
                return False
            results.launches += play_round(settings, group, arms, number, _say)
            write_results(args.json, results)
            longest_s[group.name] = max(longest_s.get(group.name, 0.0), time.monotonic() - began)
    return True


def _play_overlapping(
    args: argparse.Namespace, settings: Settings, plans: Plans, results: Results, deadline: float
) -> bool:
    def keep(launches: list[dict[str, Any]]) -> None:
        results.launches += launches
        write_results(args.json, results)

    complete = True
    for group, arms in plans:
        rounds = range(args.first_round, args.first_round + args.rounds)
        numbers = [n for n in rounds if n not in results.rounds_done(group.name)]
        complete &= Pipeline(settings, group, arms, _say, keep).play(numbers, deadline)
    return complete


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="fresh processes of each arm")
    parser.add_argument("--first-round", type=int, default=0, help="number that the rounds begin with")
    parser.add_argument(
        "--cells", default="cpu", help="cpu, cpu-together, gpu, or names of cells, commas between"
    )
    parser.add_argument("--arms", help="names with commas between; all without it")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="begin no round that would end later"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of steps")
    parser.add_argument(
        "--device", default="", choices=["", "cpu", "cuda"], help="to try a GPU cell without one"
    )
    parser.add_argument(
        "--ahead",
        type=int,
        default=0,
        help="processes that get ready while another measures; no start-up figures",
    )
    parser.add_argument(
        "--timeout", type=float, default=300.0, help="seconds after which a process is stopped"
    )
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="TOOL=INTERPRETER",
        help="the interpreter of the environment with that tool; this one, where none is named",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="the result; an earlier one is continued")
    parser.add_argument(
        "--table", type=Path, nargs="+", metavar="FILE", help="print results as Markdown, several as one"
    )
    return parser


def _pythons(given: list[str], plans: Plans) -> dict[ToolName, str]:
    pythons: dict[ToolName, str] = {"plain": sys.executable}
    names: list[ToolName] = ["plain", *PACKAGES]
    tools: dict[str, ToolName] = {name: name for name in names}
    for word in given:
        name, _, python = word.partition("=")
        if name not in tools or not Path(python).exists():
            raise ValueError(f"--python {word}: there are {', '.join(tools)}, and the file must exist")
        pythons[tools[name]] = python
    needed: set[ToolName] = {arm.tool for _, arms in plans for arm in arms}
    return {tool: pythons.get(tool, sys.executable) for tool in needed}


def _results(args: argparse.Namespace, settings: Settings, plans: Plans) -> Results:
    """Return the earlier result if there is one and it was made alike.

    Raises:
        ValueError: it was made otherwise.
    """
    asked = {"scale": args.scale, "device": args.device, "ahead": args.ahead}
    versions: dict[str, dict[str, str]] = {
        tool: versions_in(python, tool) for tool, python in settings.pythons.items()
    }
    cells = [f"{name}: {CELLS[name].what}" for group, _ in plans for name in group.cells]
    head = head_of({**asked, "cells": cells}, versions)
    earlier = read_results(args.json)
    if earlier is None:
        return Results(head)
    same = {key: earlier.head["settings"].get(key) for key in asked} == asked
    if not same or any(
        earlier.head["versions"].get(tool, found) != found for tool, found in versions.items()
    ):
        raise ValueError(f"{args.json} was made with other settings or versions; name another file")
    earlier.head["versions"].update(versions)
    earlier.head["settings"]["cells"] = list(dict.fromkeys([*earlier.head["settings"]["cells"], *cells]))
    return earlier


def _pictures(groups: list[Group], folder: Path) -> Path | None:
    if not any("resnet" in cell for group in groups for cell in group.cells):
        return None
    from benchmarks.rivals.pictures import make_pictures

    make_pictures(folder)
    return folder


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
