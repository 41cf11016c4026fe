"""In which order the ranks stand in their table. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from perftui.tui.renderables.rank_card import RankPicture
from perftui.tui.renderables.rank_columns import COLUMNS, SortKey, columns_for

_BY_HEADING = {column.heading: column for column in COLUMNS}


@dataclass(frozen=True)
class RankOrder:
    """The column that the ranks are sorted by, and which way: at first, who needs a look stands first."""

    heading: str = "finding"
    falling: bool = True

    def by(self, heading: str) -> "RankOrder":
        """Return the order by a column; the other way round where that one is in force already."""
        if heading == self.heading:
            return self.turned()
        return RankOrder(heading, _BY_HEADING[heading].falling)

    def turned(self) -> "RankOrder":
        """Return the order the other way round."""
        return replace(self, falling=not self.falling)

    def beside(self, width: int, way: int, absent: frozenset[str] = frozenset()) -> "RankOrder":
        """Return the order by the next column that a width has room for, or by the one before (`way` -1)."""
        headings = [column.heading for column in columns_for(width, absent)]
        if self.heading not in headings:
            return self.by(headings[0]) if headings else self
        return self.by(headings[(headings.index(self.heading) + way) % len(headings)])

    def sorted(self, pictures: Sequence[RankPicture]) -> list[RankPicture]:
        """Return the ranks in this order, equal ones by number; what is not known stands last."""
        key = _BY_HEADING[self.heading].key
        keyed = [(key(picture), picture) for picture in pictures]
        known = [pair for pair in keyed if pair[0] is not None]
        known.sort(key=_value, reverse=self.falling)
        return [picture for _, picture in known] + [picture for value, picture in keyed if value is None]


def _value(pair: tuple[SortKey, RankPicture]) -> float | str:
    value = pair[0]
    return 0.0 if value is None else value
