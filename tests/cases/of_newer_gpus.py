"""More scripts for a GPU, written after the rules by somebody who did not know them.

Their codes were set before any was run.

Where a rule is changed because of one, that one says nothing of the rate any more: take `fresh` from it.
"""

from tests.cases.case import HEALTHY, Case

_PARALLEL_AVERAGE = """        places = torch.arange(values.shape[1], device=values.device)
        apart = (places[:, None] - places).float()
        weights = torch.where(apart >= 0, self.keep.unsqueeze(2) ** apart.clamp(min=0), 0)
        return torch.einsum("hts,bshd->bthd", weights, values)
"""
_STEPPED_AVERAGE = """        state = torch.zeros_like(values[:, 0], dtype=torch.float32)
        states = []
        for value in values.unbind(1):
            state = self.keep * state + value
            states.append(state)
        return torch.stack(states, 1)
"""

NEWER_GPUS: tuple[Case, ...] = (
    Case(
        "gpu_decaying_averages",
        ("launch.bound",),
        gpus=1,
        fresh=True,
        mend=((_STEPPED_AVERAGE, _PARALLEL_AVERAGE),),
    ),
    Case(
        "gpu_replays_by_priority",
        ("sync.each_step",),
        gpus=1,
        mend=(("errors.abs())", "errors.abs().tolist())"),),
    ),
    Case(
        "gpu_cached_captions",
        ("transfer.pageable",),
        gpus=1,
        fresh=True,
        mend=(
            ("torch.randn(batch, 1024, 64)", "torch.randn(batch, 1024, 64).pin_memory()"),
            ("torch.randn(batch, 512, 4096)", "torch.randn(batch, 512, 4096).pin_memory()"),
            (
                "latents.to(device), captions.to(device)",
                "(part.to(device, non_blocking=True) for part in (latents, captions))",
            ),
        ),
    ),
    Case(
        "gpu_faces_of_many",
        ("compute.fp32",),
        gpus=1,
        fresh=True,
        mend=(("torch.manual_seed(0)", 'torch.manual_seed(0); torch.set_float32_matmul_precision("high")'),),
    ),
    Case(
        "gpu_adan_by_hand",
        ("compute.optimizer",),
        gpus=1,
        fresh=True,
        mend=(
            (
                "= Adan(model.parameters(), lr=1e-4)",
                "= torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)",
            ),
            ("BATCH, LENGTH, WIDTH = 2,", "BATCH, LENGTH, WIDTH = 16,"),
        ),
        mended_samples=8.0,
    ),
    Case(
        "gpu_speech_in_rooms",
        ("input.item",),
        gpus=1,
        fresh=True,
        mend=(
            (
                "features(corrupt(self.waves[index % len(self.waves)])), index % 35",
                "self.waves[index % len(self.waves)], index % 35",
            ),
            ("model(sounds)", "model(features(corrupt(sounds)))"),
        ),
        note="As many workers as cores, each item some 25 ms of one core.",
    ),
    Case("gpu_healthy_two_towers", HEALTHY, gpus=1, fresh=True),
    Case("gpu_healthy_street_masks", HEALTHY, gpus=1, fresh=True),
)
