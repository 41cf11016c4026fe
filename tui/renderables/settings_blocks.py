"""The page of settings in force: one line each, what perftui changed and where ranks differ marked."""

from collections.abc import Mapping, Sequence

from perftui.ipc.settings import SettingValue
from perftui.ipc.view import RankView
from perftui.tui import format as fmt
from perftui.tui.renderables.lines import BLANK, Line, Run, clip, fit, line, wrap
from perftui.tui.renderables.page import Block
from perftui.tui.renderables.settings_table import GROUPS, SettingRow, setting_rows, unread

_NAME_MIN, _NAME_MAX = 20, 32
_VALUE_MIN = 16
"""Cells for the sign and the value, before names are cut for them."""
_RANKS_SHOWN = 6


def settings_blocks(
    ranks: Sequence[RankView], asked: Mapping[str, SettingValue], width: int, *, telling: bool, key: str
) -> list[Block]:
    """Draw all settings by group; with `telling`, those that differ or were changed; `key` shows all."""
    rows = setting_rows(ranks, asked)
    if not rows:
        return [Block("", (line(Run("○ no rank has told its settings so far", "note")),))]
    shown = [row for row in rows if row.tells or not telling]
    if not shown:
        said = f"all ranks have the same, and perftui has changed nothing; {key} shows all"
        return [Block("", (clip(line(Run(f"○ {said}", "note")), width),))]
    longest = max(len(row.name) for row in shown)
    column = max(min(_NAME_MIN, width // 2), min(_NAME_MAX, longest, width - _VALUE_MIN))
    blocks: list[Block] = []
    for group, title in GROUPS:
        members = [row for row in shown if row.group == group]
        if members:
            gap = (BLANK,) if blocks else ()
            blocks.append(Block("", (*gap, line(Run(title, "heading")))))
            blocks += [Block(row.name, tuple(_lines(row, column, len(ranks), width))) for row in members]
    blocks += _untold_blocks(ranks, width)
    return blocks if telling else [*blocks, *_unread_blocks(ranks, width)]


def _untold_blocks(ranks: Sequence[RankView], width: int) -> list[Block]:
    """Say so where what ranks tell beside their settings is known of some of them only."""
    told = [view.rank for view in ranks if view.facts is not None]
    if not told or len(told) == len(ranks):
        return []
    said = (
        f"switches, models and samplers as read on {_ranks(told, len(ranks))}; choose another rank to read it"
    )
    return [Block("", (BLANK, clip(line(Run(f"○ {said}", "dim")), width)))]


def _lines(row: SettingRow, column: int, ranks: int, width: int) -> list[Line]:
    mark, role = _mark(row)
    name = fit(line(Run(fmt.visible(row.name), "dim" if not row.tells else "text")), column)
    value = Run(fmt.visible(row.value), "text" if not row.tells else "value")
    reason = Run(f"  {fmt.clean(row.reason)}" if row.reason else "", "dim")
    first = clip(line(Run(f"{mark} ", role), *name, "  ", value, *_asked(row), reason), width)
    margin = " " * (column + 4)
    drawn = [first]
    if row.failed is not None:
        words = f"could not be applied: {fmt.clean(row.failed)}"
        drawn += [(Run(margin), *part) for part in wrap(words, width - len(margin), "critical")]
    for other, holders in row.others:
        told = line(
            Run(margin), Run(fmt.visible(other), "warning"), Run(f"  on {_ranks(holders, ranks)}", "dim")
        )
        drawn.append(clip(told, width))
    return drawn


def _mark(row: SettingRow) -> tuple[str, str]:
    if row.failed is not None:
        return "✖", "critical"
    if row.others:
        return "≠", "warning"
    return ("◆", "accent") if row.asked is not None else (" ", "dim")


def _asked(row: SettingRow) -> Line:
    """Say what perftui was told to set, and whether that is in force."""
    if row.asked is None:
        return BLANK
    if row.failed is None and row.value in (row.asked, fmt.NOTHING):
        return line(
            Run(
                "  set by perftui" if row.value == row.asked else f"  perftui was to set {row.asked}",
                "accent",
            )
        )
    return line(Run(f"  perftui was to set {fmt.visible(row.asked)}", "warning"))


def _ranks(holders: Sequence[int], ranks: int) -> str:
    if len(holders) > _RANKS_SHOWN:
        shown = ", ".join(map(str, holders[:_RANKS_SHOWN]))
        return f"{len(holders)} of {ranks} ranks: {shown}, …"
    return f"rank{'s' if len(holders) > 1 else ''} {', '.join(map(str, holders))}"


def _unread_blocks(ranks: Sequence[RankView], width: int) -> list[Block]:
    reasons = unread(ranks)
    if not reasons:
        return []
    heading = Block("", (BLANK, line(Run("not known", "heading"))))
    return [
        heading,
        *(
            Block(
                f"unread {name}",
                (
                    clip(
                        line(
                            "  ",
                            *fit(line(Run(fmt.clean(name), "dim")), _NAME_MIN),
                            f"  {fmt.NOTHING}  ",
                            Run(fmt.clean(why), "dim"),
                        ),
                        width,
                    ),
                ),
            )
            for name, why in reasons
        ),
    ]
