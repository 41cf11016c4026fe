"""How often the exception for obvious wins speaks, and how often it is wrong.

    python -m benchmarks.obvious_win [REPETITIONS]

A launch whose standard error is above 2 % is no ground for a verdict. Should four such launches A B B A
count all the same when every B beats every A by 15 % and by four standard errors, or two when B is 2.5
times as fast as A, by eight? Here on hosts whose steps are wild enough for the gate to shut, with a
launch noise from small to absurd; the rule asks for a host on which nobody else computes, so that the last
rows are what that condition keeps out.
"""

import random
import sys
from itertools import islice

from benchmarks.simulated_launches import HostModel, simulate_launches
from perftui.trainer.tuning.plan import Caps
from perftui.trainer.tuning.verdict import SE_LIMIT, decide

CAPS = Caps(steps=200)
STEP_SDS = (0.3, 0.6)
CORRELATIONS = (0.3, 0.75)
LAUNCH_NOISES = (0.02, 0.05, 0.10, 0.20, 0.49)
GAINS = (0.0, 0.05, 0.10, 0.40, 0.70)


def speaks(host: HostModel, gain: float, repetitions: int, rng: random.Random) -> tuple[int, int]:
    """Return how many comparisons the gate shut out, and how many of those the exception calls faster."""
    shut = spoken = 0
    for _ in range(repetitions):
        points = [point for _, point in islice(simulate_launches(host, gain, rng, CAPS, 0.01), 4)]
        shut += max(point.se for point in points) > SE_LIMIT
        spoken += any(decide(points[:count], uncontended=True).obvious for count in (2, 4))
    return shut, spoken


def main() -> None:
    """Print one line a host and gain."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rng = random.Random(1)
    print(f"{repetitions} comparisons a row; gains as log speed-up")
    print("step sd  AR(1)  launch sd | gate shut at A/A | called faster at a true gain of")
    print(" " * 47 + "".join(f"{gain:>9.0%}" for gain in GAINS))
    for tau in LAUNCH_NOISES:
        for sd in STEP_SDS:
            for correlation in CORRELATIONS:
                host = HostModel("wild", sd, correlation, 4, tau, 0.003, 0.003, 0.02)
                counts = [speaks(host, gain, repetitions, rng) for gain in GAINS]
                shares = "".join(f"{spoken / repetitions:>9.2%}" for _, spoken in counts)
                shut = counts[0][0] / repetitions
                print(f"{sd:7.0%}  {correlation:5.2f}  {tau:9.0%} | {shut:16.1%} |{shares}", flush=True)


if __name__ == "__main__":
    main()
