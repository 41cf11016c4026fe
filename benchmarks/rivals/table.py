"""Turns a result into the Markdown of docs/benchmarks.md."""

from statistics import median

from benchmarks.rivals.arms import AGAIN, BASELINE, BY_NAME, PARTS
from benchmarks.rivals.cells import CELLS, FLOOD
from benchmarks.rivals.paired import Difference
from benchmarks.rivals.pairs import arms_in, cells_in, launch_cost, records, step_cost, voids
from benchmarks.rivals.results import Results

_LEAST_ROUNDS = 5
"""With fewer no interval is shown: it would be the range of the rounds and no more."""
_NOTE = (
    "Differences to the plain process of the same round, median over rounds with a 95 % bootstrap interval; "
    "bold where the interval leaves zero out. The control row is a second plain process: what the host does "
    "by itself. *Block* is the median over blocks of 100 steps, which leaves out what happens rarely; *other "
    "threads* is processor time in the training process outside the training thread."
)
_LAUNCHES = (
    "Over all cells but the last: seconds added from the start of the command to the first step and from the "
    "last step to the end of the command, and processor time added by all its processes together. Lines: "
    f"what the command prints in the loop without pause ({CELLS[FLOOD].what})."
)


def markdown(results: Results) -> str:
    """Return a table a cell, then one of starts, ends and output, then what each arm is."""
    parts = [_head(results), _NOTE]
    parts += [_of_cell(results, cell) for cell in cells_in(results)]
    parts += [_of_launches(results), _of_arms(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(results: Results) -> str:
    head, machine = results.head, results.head["machine"]
    versions = {name: number for found in head["versions"].values() for name, number in sorted(found.items())}
    said = ", ".join(f"{name} {number}" for name, number in versions.items())
    where = f"{machine['cores']} cores of {machine['cpu']}"
    where += f", {machine['gpu']}" if machine["gpu"] else ""
    return f"{head['date']}; {where}; {said}; {_disturbance(results)}."


def _disturbance(results: Results) -> str:
    """Say how busy the host was: before launches, and during those without a tool."""
    loads = [launch["load_1m"] for launch in results.launches]
    plain = [launch["waiting_share"] for launch in results.launches if launch["arm"] == BASELINE]
    shares = [share for share in plain if share is not None]
    load = f"load average {min(loads):.1f} to {max(loads):.1f} before a launch" if loads else "no launch"
    if not shares:
        return load
    return f"{load}, some task waiting for a CPU during {median(shares):.0%} of a plain process's life"


def _of_cell(results: Results, cell: str) -> str:
    cpu = step_cost(results, cell, BASELINE, "cpu_us")
    wall = step_cost(results, cell, BASELINE, "wall_us")
    if cpu is None or wall is None:
        return f"**{cell}**: no round with a good plain process."
    lines = [
        f"**{cell}** ({CELLS[cell].what}): plain {cpu.plain:.0f} µs of the training thread's CPU, "
        f"{wall.plain:.0f} µs wall a step; the middle half of the plain processes spans {cpu.spread:.0f} and "
        f"{wall.spread:.0f} µs.",
        "",
        "| | CPU added, µs a step | in a block | other threads | wall added, µs a step | share | rounds |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [_row(results, cell, arm, wall.plain) for arm in arms_in(results, cell) if arm != BASELINE]
    return "\n".join(lines)


def _row(results: Results, cell: str, arm: str, plain_wall_us: float) -> str:
    label = f"{_label(arm)} *(every phase)*" if BY_NAME[arm].every_phase else _label(arm)
    cpu, wall = step_cost(results, cell, arm, "cpu_us"), step_cost(results, cell, arm, "wall_us")
    block, process = (
        step_cost(results, cell, arm, "cpu_block_median_us"),
        step_cost(results, cell, arm, "process_cpu_us"),
    )
    void = voids(results, cell, arm)
    if cpu is None or wall is None or block is None or process is None:
        return f"| {label} | — | — | — | — | — | 0: {_short(void[0]) if void else 'not run'} |"
    others = f"{process.added - cpu.added:+.0f}"
    share = f"{wall.added / plain_wall_us:+.1%}"
    count = ", ".join([str(cpu.rounds), *_remarks(results, cell, arm, void)])
    return f"| {label} | {_span(cpu)} | {block.added:+.0f} | {others} | {_span(wall)} | {share} | {count} |"


def _remarks(results: Results, cell: str, arm: str, void: list[str]) -> list[str]:
    notes = sorted({note for record in records(results, cell, arm) for note in record["notes"]})
    left_out = [f"{len(void)} void: {_short(void[0])}"] if void else []
    return left_out + notes[-1:]


def _of_launches(results: Results) -> str:
    arms = [arm for arm in BY_NAME if arm != BASELINE and launch_cost(results, arm, "first_step_s", _steady)]
    if not arms:
        return ""
    lines = [
        _LAUNCHES,
        "",
        "| | start, s | end, s | all processes, CPU s | lines printed | steps/s of that loop |",
        "|---|---|---|---|---|---|",
    ]
    for arm in arms:
        start = launch_cost(results, arm, "first_step_s", _steady)
        end = launch_cost(results, arm, "after_last_step_s", _steady)
        cpu = launch_cost(results, arm, "cpu_s", _steady)
        cells = [_span(start, 2), _span(end, 2), _span(cpu, 1), *_flood(results, arm)]
        lines.append(f"| {_label(arm)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _flood(results: Results, arm: str) -> list[str]:
    launches = records(results, FLOOD, arm)
    if not launches:
        return ["—", "—"]
    printed = median(launch["lines_out"] + launch["lines_err"] for launch in launches)
    speed = median(1e6 / launch["figures"][0]["wall_us"] for launch in launches)
    return [f"{printed:,.0f}", f"{speed:,.0f}"]


def _of_arms(results: Results) -> str:
    names = dict.fromkeys(launch["arm"] for launch in results.launches)
    return "\n".join(
        f"* {_label(name)}: {BY_NAME[name].what}{_recorded(results, name)}."
        for name in BY_NAME
        if name in names
    )


def _recorded(results: Results, arm: str) -> str:
    """Say what the tool kept of each step, by its own account, in every good launch of the steady cells."""
    kept = [
        {name for name, count in launch["recorded"].items() if count}
        for launch in results.launches
        if launch["arm"] == arm and not launch["void"] and _steady(launch["group"])
    ]
    always = [name for name in PARTS if kept and all(name in names for names in kept)]
    return f"; recorded {', '.join(always)}" if always else ""


def _steady(group: str) -> bool:
    return group != FLOOD


def _label(arm: str) -> str:
    return "no tool, again (control)" if arm == AGAIN else arm


def _span(found: Difference | None, digits: int = 0) -> str:
    if found is None:
        return "—"
    if found.rounds < _LEAST_ROUNDS:
        return f"{found.added:+.{digits}f} (too few rounds)"
    text = f"{found.added:+.{digits}f} ({found.lo:+.{digits}f} to {found.hi:+.{digits}f})"
    return f"**{text}**" if found.seen else text


def _short(reason: str) -> str:
    return reason.strip().splitlines()[-1].replace("|", "/")[:120]
