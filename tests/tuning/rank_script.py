"""A training that speaks the protocol by itself: real process, keeper and hub, made-up step times.

Its steps take 40 ms, 10 ms with loader workers, 160 ms with three, which two launches show; what a relaunch
finds does not hang on how busy this machine is. It refuses to run with four workers, and to apply five; with
six it breaks down after 300 steps; with seven it has but 40 steps left and ends as it should. With
`--stubborn` no signal but SIGKILL ends it, with `--restless` its steps wander by half.
"""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.tuning.made_rank import MadeRank, end_on_request

STEP_MS = {0: 40.0, 3: 160.0}


def main() -> None:
    if "--stubborn" in sys.argv:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    else:
        end_on_request()
    rank = MadeRank()
    if rank.workers == 4:
        sys.exit("four workers are more than I can bear")
    failed = {"loader.num_workers": "five is right out"} if rank.workers == 5 else {}
    rank.begin({"loader.num_workers": 0 if rank.workers == 5 else rank.workers}, failed)
    wall_ms = STEP_MS.get(rank.workers, 10.0)
    until = {6: 300, 7: 40}.get(rank.workers)
    rank.train(wall_ms, wall_ms / 2, until, restless="--restless" in sys.argv)
    if rank.workers == 7:
        sys.exit(0)
    sys.exit("six workers have eaten all the memory")


main()
