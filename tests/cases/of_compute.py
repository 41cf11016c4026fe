"""Scripts whose arithmetic, compilation or debugging switches are at fault."""

from tests.cases.case import Case

COMPUTE = (
    Case(
        "anomaly_left_on",
        ("debug.anomaly",),
        report="R116",
        mend=(("torch.autograd.set_detect_anomaly(True)\n", ""),),
    ),
    Case(
        "profiler_all_along",
        ("debug.profiler_left_on",),
        report="R251",
        mend=(
            ("with profile(", "if profiler := profile("),
            (", with_stack=True) as profiler:", ", with_stack=True):"),
            ("            profiler.step()\n", ""),
        ),
    ),
    Case(
        "compiles_each_length",
        ("compile.recompiles",),
        seconds=60,
        report="R212",
        mend=(("dynamic=False", "dynamic=True"),),
    ),
    Case(
        "compiles_each_label",
        ("compile.recompiles",),
        seconds=30,
        report="R209",
        mend=(('f"step-{step}"', '"step"'),),
    ),
    Case(
        "breaks_in_every_layer",
        ("compile.graph_breaks",),
        seconds=30,
        report="R215",
        mend=(("        if scale > self.longest:\n            self.longest.copy_(scale)\n", ""),),
    ),
    Case(
        "compiles_tiny_pieces",
        ("compile.not_worth",),
        seconds=30,
        report="R219",
        mend=(("@torch.compile\n", ""),),
    ),
    Case(
        "checkpointed_twice",
        ("compute.backward_ratio",),
        report="R225",
        mend=(("inputs = checkpoint(layer, inputs, use_reentrant=False)", "inputs = layer(inputs)"),),
    ),
    Case(
        "checkpointed_to_spare",
        ("compute.backward_ratio",),
        report="R226",
        mend=(("hidden = checkpoint(block, hidden, use_reentrant=False)", "hidden = block(hidden)"),),
    ),
    Case(
        "optimizer_per_tensor",
        ("compute.optimizer",),
        report="R195",
        mend=(("AdamW(model.parameters(), lr=1e-3, foreach=False)", "SGD(model.parameters(), lr=1e-3)"),),
    ),
    Case(
        "one_sample_micro_batches",
        ("compute.small_batch",),
        report="R201",
        mend=(("ACCUMULATE = 64", "ACCUMULATE = 1"),),
    ),
    Case(
        "batch_of_one",
        ("compute.small_batch",),
        report="R199",
        mend=(("batch_size=1,", "batch_size=64,"), ("if step % 50 == 0:", "if step % 5 == 0:")),
        mended_samples=64,
    ),
    Case(
        "watches_values_when_compiled",
        ("compile.graph_breaks",),
        seconds=30,
        mend=(
            (
                "        self.seen = [float(hidden.detach().mean())]\n        if self.seen[0] > 2:\n",
                "        if not self.training:\n",
            ),
        ),
    ),
    Case(
        "compiles_a_deep_model",
        ("compile.warming_up",),
        costs_time=False,
        seconds=5,
        note="watched while it compiles: nothing else can be said of it yet",
    ),
    Case(
        "dense_table",
        ("compute.optimizer",),
        mend=(
            ("EmbeddingBag(60_000, 64)", "EmbeddingBag(60_000, 64, sparse=True)"),
            ("torch.optim.Adam(", "torch.optim.SGD("),
        ),
    ),
    Case(
        "whitens_with_svd",
        ("compute.operator",),
        mend=(
            (
                "_, scale, basis = torch.linalg.svd(features, full_matrices=False)",
                "scale, basis = features.std(0), torch.eye(128)",
            ),
        ),
    ),
    Case("vanishing_weights", ("compute.denormals",), mend=(("VARIANCE = 1e-39", "VARIANCE = 1e-4"),)),
)
