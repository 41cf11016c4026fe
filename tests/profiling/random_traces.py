"""Traces of random stretches, whose figures the maker of traces knows."""

import random

from tests.profiling.trace_maker import TraceMaker


def random_trace(seed: int, api: str = "cuda", steps: int = 4) -> tuple[TraceMaker, int]:
    """Return a trace of random stretches and the length of its window."""
    draw = random.Random(seed)
    maker = TraceMaker(api=api)
    began = maker.now_ns
    for _ in range(steps):
        maker.step()
        maker.compute(draw.randint(1000, 90_000))
        for _ in range(draw.randint(5, 25)):
            ns = draw.randint(1000, 200_000)
            match draw.randrange(7):
                case 0:
                    maker.compute(ns)
                case 1:
                    maker.communicate(ns)
                case 2:
                    maker.overlap(ns)
                case 3:
                    maker.copy(ns, size=1 << 20 if draw.random() < 0.5 else str(1 << 20))
                case 4:
                    maker.idle(behind=draw.choice([500, 29_999, 30_000, 400_000]))
                case _:
                    maker.idle(
                        loader=draw.choice([0, ns]),
                        sync_call=draw.choice([0, 40_000]),
                        host_other=draw.choice([0, 7000, 123_456]),
                        in_call=draw.choice([0, 400_000]),
                        behind=draw.choice([0, 1, 12_000, 31_000]),
                    )
    maker.end_step()
    return maker, maker.now_ns - began
