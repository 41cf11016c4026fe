"""Still more scripts for a GPU, written after the rules by somebody who did not know them.

Their codes were set before any was run.
"""

from tests.cases.case import HEALTHY, Case

LATER_GPUS = (
    Case(
        "gpu_quasi_hyperbolic",
        ("sync.each_step",),
        gpus=1,
        report="R105",
        fresh=True,
        mend=(("QHM(model.parameters(), device=device)", 'QHM(model.parameters(), device="cpu")'),),
        note="alpha= of a tensor on the GPU is read 1200 times a step",
    ),
    Case(
        "gpu_birds_by_kind",
        ("sync.each_step",),
        gpus=1,
        fresh=True,
        mend=(
            (
                "zip(kinds, losses.detach(), hits)",
                "zip(kinds.tolist(), losses.detach().tolist(), hits.tolist())",
            ),
        ),
        note="2304 scalars a step are read one by one for meters",
    ),
    Case(
        "gpu_bootstrapped_dynamics",
        ("launch.bound",),
        gpus=1,
        fresh=True,
        note="48 small networks one after the other, each with tiny kernels",
    ),
    Case(
        "gpu_weather_tokens",
        ("compute.fp32",),
        gpus=1,
        fresh=True,
        mend=(("enabled=False", "enabled=True"),),
        note="autocast is switched off within the feed-forward, where nine tenths of the products are",
    ),
    Case(
        "gpu_scenes_from_orbit",
        ("transfer.pageable",),
        gpus=1,
        fresh=True,
        mend=(("dtype=torch.int16)", "dtype=torch.int16).pin_memory()"),),
        note="128 MB a step from pageable memory; a slice is no work",
    ),
    Case(
        "gpu_gestures_from_events",
        ("input.inline",),
        gpus=1,
        note="numpy makes the grids in the training thread",
    ),
    Case(
        "gpu_fits_on_one_card",
        ("compute.optimizer", "compute.device"),
        seconds=30.0,
        gpus=1,
        mend=(("optimizer = BudgetAdamW(", "optimizer = torch.optim.AdamW("),),
        note="the optimizer computes on the CPU: both names say so; its copies are pinned and short",
    ),
    Case(
        "gpu_many_scales",
        ("compile.recompiles",),
        seconds=60.0,
        gpus=1,
        fresh=True,
        mend=(("size = random.choice(SIZES)", "size = 320"),),
    ),
    Case(
        "gpu_dictionary_of_features",
        ("compute.operator",),
        gpus=1,
        fresh=True,
        mend=(
            ("strength.sort(dim=-1, descending=True).values", "strength.topk(self.active, dim=-1).values"),
        ),
        note="67 million values are sorted in full to find the 64th of each row",
    ),
    Case(
        "gpu_grades_essays",
        ("pause.validation",),
        gpus=1,
        mend=(("eval_steps=25", "eval_steps=500"),),
        note="120 batches of validation after each 25 steps",
    ),
    Case("gpu_healthy_long_documents", HEALTHY, gpus=1, fresh=True),
    Case("gpu_healthy_large_global_batch", HEALTHY, gpus=1, fresh=True),
    Case("gpu_healthy_textures", HEALTHY, gpus=1, fresh=True),
    Case("gpu_healthy_small_reader", HEALTHY, gpus=1, fresh=True),
)
