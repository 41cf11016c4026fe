"""A training that speaks the protocol by itself and says that its loader starves it, with made-up step times.

So what a search finds does not hang on how busy this machine is. Three quarters of its 40 ms are waiting for
a loader without workers; workers end that. `crash`: it dies with workers. `slow`: workers make it slower.
`fails`: it dies before its first step. Each of its starts leaves a line in `launches.txt` beside it.
"""

import sys
from pathlib import Path

from perftui.ipc.messages import LoaderFacts

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.made_loader import made_loader
from tests.tuning.made_rank import MadeRank, end_on_request


def step_ms(mode: str, workers: int) -> tuple[float, float]:
    """Return a step and the wait in it."""
    if workers == 0:
        return 40.0, 30.0
    return (160.0, 0.8) if mode == "slow" else (10.0, 0.05)


def loader(workers: int) -> LoaderFacts:
    prefetch_factor = 2 if workers else None
    return made_loader(num_workers=workers, prefetch_factor=prefetch_factor, batches_per_epoch=1_000_000)


def main() -> None:
    end_on_request()
    mode = sys.argv[1] if len(sys.argv) > 1 else "plain"
    rank = MadeRank()
    with Path("launches.txt").open("a") as log:
        log.write(f"{rank.workers}\n")
    if mode == "fails" or (mode == "crash" and rank.workers):
        sys.exit("RuntimeError: no workers, please")
    in_force: dict[str, object] = {"loader.num_workers": rank.workers, "loader.prefetch_factor": 2}
    rank.begin(in_force, {}, loader(rank.workers))
    rank.train(*step_ms(mode, rank.workers))


main()
