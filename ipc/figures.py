"""Numbers as a person reads them: the same in the dashboard, in what commands print, and in reports. Pure."""

_FEWEST = 1e-4
"""Below, so many zeros would stand after the point that a power of ten is read more easily."""
_MOST = 1e7
"""From here on a figure is a power of ten too: `6.18e28` is read, its 29 digits are not."""


def decimals(value: float) -> int:
    """Return how many digits after the point it takes to show three that count; two of 0."""
    if not 0 < abs(value) < float("inf"):
        return 2
    power = int(f"{value:.2e}".partition("e")[2])  # of the rounded value: 0.9996 is shown as 1.00
    return max(0, 2 - power)


def figure(value: float, least_decimals: int = 0) -> str:
    """Return three digits that count: 0.0421, 0.421, 4.21, 42.1, 421, 4210; others as 4.21e-6, 6.18e28.

    `least_decimals` are shown also of large values.
    """
    if 0 < abs(value) < _FEWEST or _MOST <= abs(value) < float("inf"):
        digits, _, power = f"{value:.2e}".partition("e")
        return f"{digits}e{int(power)}"
    return f"{value:.{max(least_decimals, decimals(value))}f}"


def counted(number: float, noun: str, plural: str = "") -> str:
    """Return how many there are, in words that fit the number: 1 worker, 2 workers, 1,200 steps."""
    shown = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{shown} {noun if number == 1 else plural or f'{noun}s'}"


def stands_out(value: float, error: float) -> bool:
    """Whether what something takes is more than its noise: zero lies two standard errors below, or more."""
    return value > 2 * error


def beside(value: float, digits: int) -> str:
    """Return a figure with the digits after the point that those beside it have; a trifle is no zero."""
    shown = f"{value:.{digits}f}"
    return shown if float(shown) or not value else figure(value)
