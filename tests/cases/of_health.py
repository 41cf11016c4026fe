"""Scripts with nothing to mend, and one of them on a host that has other work."""

from tests.cases.case import HEALTHY, Case

_NOBODY_LEADS = "healthy: no critical finding, and no lead but this"

HEALTH = (
    *(
        Case(script, HEALTHY, ranks=ranks, seconds=seconds, note=_NOBODY_LEADS)
        for script, ranks, seconds in (
            ("healthy_mlp", 1, 20),
            ("healthy_cnn", 1, 20),
            ("healthy_gan", 1, 20),
            ("healthy_accumulation", 1, 20),
            ("healthy_lbfgs", 1, 20),
            ("healthy_short_steps", 1, 20),
            ("healthy_ddp", 2, 20),
            ("healthy_ddp_accumulation", 2, 20),
            ("healthy_compiled", 1, 30),
            ("healthy_sharded_stream", 1, 20),
            ("healthy_with_checkpoints", 1, 30),
            ("healthy_fed_by_workers", 1, 20),
            ("healthy_language_model", 1, 20),
        )
    ),
    Case("healthy_cnn", ("self.contended",), busy=4, note="four processes beside it want a core each"),
)
