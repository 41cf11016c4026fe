"""What was painted, read back: which step stood on the screen when."""

import sys

from benchmarks.screen.latency import shown_steps, step_to_paint_s
from benchmarks.screen.records import spread
from benchmarks.screen.terminal import ENVIRONMENT, Painted, RecordedTerminal


def test_the_step_is_read_from_the_first_line_even_when_one_digit_changes() -> None:
    painted = [
        Painted(1.0, b"\x1b[H perftui x  \xe2\x97\x8f training  step 1,234  loss"),
        Painted(1.2, b"\x1b[5;1Hstep 9"),
        Painted(1.5, b"\x1b[1;34H5"),
    ]
    assert shown_steps(painted, 60, 10) == [(1.0, 1234), (1.5, 1235)]


def test_a_step_counts_from_its_end_to_the_first_picture_that_has_it() -> None:
    shown = [(10.0, 3), (10.4, 5), (10.9, 6)]
    ends_s = [9.0, 9.4, 9.8, 10.1, 10.2, 10.6, 11.0]
    took = step_to_paint_s(shown, ends_s, 9.5, 12.0)
    assert [round(each, 3) for each in took] == [0.2, 0.3, 0.2, 0.3]


def test_spreads_are_in_ms_and_of_nothing_there_is_none() -> None:
    found = spread([0.1, 0.2, 0.3])
    assert found is not None
    assert (found.count, found.median_ms, found.most_ms) == (3, 200.0, 300.0)
    assert spread([]) is None


def test_bytes_are_kept_with_their_time_and_keys_are_answered() -> None:
    script = "import sys; print('ready', flush=True); print('got', sys.stdin.readline(), flush=True)"
    terminal = RecordedTerminal([sys.executable, "-c", script], 80, 24, ENVIRONMENT)
    try:
        assert terminal.wait_for(b"ready", terminal.started_s, 20.0) is not None
        typed = terminal.type(b"a\n")
        answered = terminal.wait_for(b"got a", typed, 20.0)
        assert answered is not None
        assert 0 < answered < 20
        assert terminal.bytes_between(terminal.started_s, typed) == len(b"ready\r\n")
    finally:
        terminal.close()
    assert terminal.process.returncode is not None
