"""Scripts of two ranks whose communication, balance or sharding is at fault."""

from tests.cases.case import Case

RANKS = (
    Case(
        "debug_detail",
        ("debug.detail",),
        ranks=2,
        report="R119",
        mend=(('"DETAIL"', '"OFF"'),),
    ),
    Case(
        "synced_accumulation",
        ("comm.no_sync",),
        ranks=2,
        seconds=30,
        report="R126",
        mend=(
            (
                "    for inputs, labels in loader:\n",
                "    for inputs, labels in loader:\n"
                "        model.require_backward_grad_sync = (micro + 1) % ACCUMULATE == 0\n",
            ),
        ),
    ),
    Case(
        "tiny_buckets",
        ("comm.buckets",),
        ranks=2,
        report="R133",
        mend=((", bucket_cap_mb=0.0001", ""),),
    ),
    Case(
        "gradients_over_the_wire",
        ("comm.exposed",),
        ranks=2,
        report="R142",
        mend=(("DistributedDataParallel(net)", "net"),),
        note="mended, for the clock: no exchange at all",
    ),
    Case(
        "extra_work_in_backward",
        ("rank.straggler_compute",),
        ranks=2,
        report="R163",
        mend=(("60 if dist.get_rank() == 1 else 1", "1"),),
    ),
    Case(
        "lengths_by_chance",
        ("rank.imbalance",),
        ranks=2,
        seconds=30,
        report="R165",
        mend=(("draw.choice((16, 640))", "328"),),
    ),
    Case(
        "gradients_watched",
        ("rank.straggler_host",),
        ranks=2,
        report="R248",
        mend=(
            ("if dist.get_rank() == 0:\n            for name", "if step % 200 == 0:\n            for name"),
        ),
    ),
    Case(
        "epoch_never_set",
        ("data.same_order",),
        costs_time=False,
        ranks=2,
        report="R173",
        mend=(
            (
                "loader = DataLoader(data, batch_size=64, sampler=DistributedSampler(data, shuffle=True)",
                "sampler = DistributedSampler(data, shuffle=True)\n"
                "loader = DataLoader(data, batch_size=64, sampler=sampler",
            ),
            (
                "    for images, labels in loader:\n",
                "    sampler.set_epoch(epoch)\n    for images, labels in loader:\n",
            ),
        ),
    ),
    Case(
        "looks_for_unused",
        ("comm.find_unused",),
        ranks=2,
        report="R131",
        note="a third of a small step; the reports disagree on larger ones",
        mend=(("find_unused_parameters=True", "find_unused_parameters=False"),),
    ),
    Case(
        "one_rank_decodes",
        ("rank.straggler_input",),
        ranks=2,
        mend=(("(640, 480) if rank == 1 else (32, 32)", "(32, 32)"),),
    ),
    Case(
        "one_rank_has_longer_texts",
        ("rank.straggler_compute",),
        ranks=2,
        mend=(("384 if dist.get_rank() == 0 else 48", "48"),),
    ),
    Case(
        "every_rank_reads_all",
        ("data.same_on_ranks",),
        costs_time=False,
        ranks=2,
        mend=(
            (
                "DataLoader(data, batch_size=64, shuffle=True)",
                "DataLoader(data, batch_size=64, sampler=DistributedSampler(data))",
            ),
            ("import DataLoader, TensorDataset", "import DataLoader, DistributedSampler, TensorDataset"),
            (
                "    for images, labels in loader:\n",
                "    loader.sampler.set_epoch(epoch)\n    for images, labels in loader:\n",
            ),
        ),
    ),
    Case(
        "four_samples_a_rank",
        ("scaling.small_per_rank_batch",),
        ranks=2,
        mend=(("batch_size=8 //", "batch_size=512 //"), ("step % 20 == 0", "step % 5 == 0")),
        mended_samples=64,
        note="the communication that shows is its consequence",
    ),
)
