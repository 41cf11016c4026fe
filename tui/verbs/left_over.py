"""Before a command: what killed measurements have left, cleared away and told; and what was pruned."""

from perftui.tui.verbs.output import say

BEFORE_VERBS = frozenset({"run", "ls", "relaunch", "tune", "ledger"})


def tell_left_over() -> None:
    """Clear up after measurements that were killed, and say so; nothing is loaded where there is none."""
    from perftui.ipc.places import state_root

    root = state_root()
    if (root / "pruned.json").exists():
        from perftui.trainer.launch.pruning import take_word_of_pruning

        told = take_word_of_pruning()
        if told is not None:
            say(told)
    begun = any((root / "relaunches").glob("*.json"))
    open_trials = any(not (trial / "exit.json").exists() for trial in (root / "runs").glob("*-trial-*"))
    if not begun and not open_trials:
        return
    from perftui.trainer.tuning.broken_off import settle_broken_off

    for line in settle_broken_off():
        say(line)
