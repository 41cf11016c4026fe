"""More scripts for a CPU, written after the rules by somebody who did not know them.

Their codes were set before any was run.

Where a rule is changed because of one, that one says nothing of the rate any more: take `fresh` from it.
"""

from tests.cases.case import HEALTHY, Case

_BACKWARD_INSIDE = """        loss = nn.functional.cross_entropy(model(cells), kinds) / ACCUMULATE
        last = micro == ACCUMULATE - 1
        with contextlib.nullcontext() if last else model.no_sync():
            loss.backward()
"""
_BOTH_INSIDE = """        last = micro == ACCUMULATE - 1
        with contextlib.nullcontext() if last else model.no_sync():
            loss = nn.functional.cross_entropy(model(cells), kinds) / ACCUMULATE
            loss.backward()
"""

NEWER_OTHERS: tuple[Case, ...] = (
    Case(
        "five_way_episodes",
        ("input.epoch_start",),
        fresh=True,
        mend=(
            (
                "        members = self.grouped()\n",
                "        members = self.kept = getattr(self, 'kept', None) or self.grouped()\n",
            ),
        ),
        note="the sampler groups 160 000 labels anew at each epoch of 20 episodes",
    ),
    Case(
        "captions_and_regions",
        ("input.collate",),
        fresh=True,
        mend=(("(alike(captions) / 0.1)", "(torch.eye(len(captions)) / 0.1)"),),
        note="2016 pairs of captions are compared in the collate function of each batch",
    ),
    Case(
        "objects_and_queries",
        ("cpu.python",),
        mend=(("assign(cost) for cost", "list(range(len(cost))) for cost"),),
        note="assignment of objects to queries in plain Python, between forward and backward",
    ),
    Case(
        "house_prices",
        ("pause.logging",),
        fresh=True,
        mend=(("log.setLevel(logging.DEBUG)", "log.setLevel(logging.INFO)"),),
        note="every parameter and gradient goes to a log file as text in each step",
    ),
    Case(
        "patches_by_flow",
        ("compute.operator",),
        mend=(("torch.linalg.slogdet(self.weight)[1]", "0.5 * self.weight.pow(2).sum().log()"),),
        note="log-determinants of 512 x 512 matrices and their backward",
    ),
    Case(
        "sparse_classifier",
        ("compute.denormals",),
        fresh=True,
        mend=(('"--fade", type=float, default=0.6', '"--fade", type=float, default=0.0'),),
        note="faded weights stay at the least denormal number: 0.6 of it is rounded up to it again",
    ),
    Case(
        "module_with_hooks",
        ("memory.host_growth",),
        fresh=True,
        costs_time=False,
        mend=(("        self.epoch += 1\n", "        self.epoch += 1\n        self.outputs.clear()\n"),),
        note="outputs of all training steps are kept: 256 KiB a step",
    ),
    Case(
        "dilated_blocks",
        ("compile.recompiles",),
        seconds=40.0,
        fresh=True,
        mend=(("random.random() < share", "True"),),
        note="another choice of blocks every 40 steps is another graph each time",
    ),
    Case(
        "table_gan",
        ("debug.anomaly",),
        fresh=True,
        mend=(("strict: bool = True", "strict: bool = False"),),
    ),
    Case(
        "noisy_waves",
        ("data.worker_seed",),
        report="R176",
        fresh=True,
        costs_time=False,
        mend=(("        rng = self.rng\n", "        rng = np.random\n"),),
        note="a numpy Generator made in the dataset's constructor is copied to both workers",
    ),
    Case("reaches_by_values", HEALTHY, fresh=True),
    Case("two_crops", HEALTHY, fresh=True),
    Case("mean_teacher", HEALTHY, fresh=True),
    Case("sentences_of_like_length", HEALTHY, fresh=True),
    Case(
        "latest_weights_averaged",
        ("rank.straggler_host",),
        ranks=2,
        fresh=True,
        mend=(
            (
                "                latest.update(net)\n",
                "                _ = step % 200 or latest.update(net)\n",
            ),
        ),
    ),
    Case(
        "rooms_of_points",
        ("rank.imbalance",),
        seconds=30.0,
        ranks=2,
        fresh=True,
        mend=(("log_normal_(7.7, 1.5)", "fill_(6000.0)"),),
        note="Mended to rooms of one size, about the mean of the others.",
    ),
    Case(
        "genes_in_micro_batches",
        ("comm.no_sync",),
        seconds=30.0,
        ranks=2,
        fresh=True,
        mend=((_BACKWARD_INSIDE, _BOTH_INSIDE),),
        note="The forward is outside no_sync(), so every backward exchanges all the same.",
    ),
    Case(
        "rare_kinds_drawn_more",
        ("data.same_on_ranks",),
        ranks=2,
        fresh=True,
        costs_time=False,
        mend=(
            (
                "len(kinds) // self.world, replacement=True)",
                "len(kinds) // self.world, replacement=True, "
                "generator=torch.Generator().manual_seed(arguments.seed + self.rank))",
            ),
        ),
    ),
    Case(
        "few_leaves",
        ("input.epoch_start",),
        ranks=2,
        fresh=True,
        mend=(("num_workers=2)", "num_workers=2, persistent_workers=True)"),),
        note="epochs of three batches, each with new workers.",
    ),
    Case("healthy_ddp_denoiser", HEALTHY, ranks=2, fresh=True),
)
