"""Operators of one purpose that together hold much of a window; what is usual never leads."""

from dataclasses import replace

import pytest

from perftui.ipc.facts import StackPlace
from perftui.ipc.trace_report import CallerFigures, OperatorFigures
from perftui.trainer.diagnosis import POLICY
from perftui.trainer.diagnosis.rules.operator_families import FAMILIES, largest_family, spelled
from perftui.trainer.diagnosis.signals import RankSignals

from .made import facts, found, gpu, gpu_rank, lead, rank, report, run, stacks

_TOP = "(top level)"
_SLOGDET = StackPlace(area="model", at="flow.py:15 forward", line="z, torch.linalg.slogdet(w)[1]", count=45)


def _operator(
    name: str, share: float, caller: str = _TOP, *, total: float | None = None, device: bool = False
) -> OperatorFigures:
    """An operator of a window of 1 ms of own time, with all that it calls (`total`, a share as well)."""
    whole = 1000 * (share if total is None else total)
    called = CallerFigures(caller=caller, count=4, total_us=whole, device_us=whole if device else None)
    return OperatorFigures(
        name=name,
        count=4,
        total_us=whole,
        self_us=1 if device else 1000 * share,
        device_us=whole if device else None,
        self_device_us=1000 * share if device else None,
        share=share,
        host_per_device=None,
        callers=[called],
    )


def _window(*operators: OperatorFigures) -> RankSignals:
    rest = 1 - sum(each.share for each in operators)
    return rank(report=report(gpu=None, idle=None, operators=[*operators, _operator("aten::mm", rest)]))


def _flow(solve: float = 0.28, factor: float = 0.17) -> tuple[OperatorFigures, ...]:
    """Log-determinants of a flow: a factorisation, the solve of its backward, and copies within both."""
    node = "LinalgSlogdetBackward0"
    around = f"autograd::engine::evaluate_function: {node}"
    return (
        _operator("aten::linalg_lu_solve", solve, node, total=solve + 0.02),
        _operator("aten::linalg_lu_factor_ex", factor, "aten::_linalg_slogdet", total=factor + 0.01),
        _operator("aten::_linalg_slogdet", 0.01, "aten::linalg_slogdet", total=factor + 0.02),
        _operator("aten::linalg_slogdet", 0.0, total=factor + 0.02),
        _operator(node, 0.0, around, total=solve + 0.03),
        _operator(around, 0.0, total=solve + 0.03),
        _operator("aten::copy_", 0.04, "aten::linalg_lu_solve"),
    )


def test_decompositions_count_together_with_what_they_call_and_their_backward() -> None:
    made = replace(_window(*_flow()), facts=facts(stacks=stacks(100, _SLOGDET, model=60, backward=40)))
    finding = lead(run(made))
    assert (finding.code, finding.severity) == ("compute.operator", "info")
    assert finding.share == pytest.approx(0.28 + 0.03 + 0.17 + 0.02)
    assert finding.sentence.startswith(
        "Decompositions and solves of matrices (aten::linalg_lu_solve, aten::linalg_lu_factor_ex, "
        "aten::_linalg_slogdet) hold 50 % of the time"
    )
    assert finding.remedy is not None
    assert finding.remedy.at == "flow.py:15 forward"
    assert "compute.bound" not in found(run(made))


@pytest.mark.parametrize(("above", "seen"), [(0.001, True), (-0.001, False)])
def test_a_family_at_its_threshold(above: float, seen: bool) -> None:
    """What they call takes 0.05 beside."""
    solve = POLICY.family_share - 0.05 - 0.17 + above
    assert ("compute.operator" in found(run(_window(*_flow(solve=solve))))) is seen


def test_one_operator_of_a_family_is_named_alone() -> None:
    several = _operator("aten::sort", 0.46), _operator("aten::topk", 0.04)
    assert lead(run(_window(*several))).sentence.startswith("One operator, aten::sort, holds 46 %")
    other = _operator("aten::sort", 0.40), _operator("aten::topk", 0.10)
    assert lead(run(_window(*other))).sentence.startswith("Sorting and selecting (aten::sort, aten::topk)")


def test_a_larger_operator_of_no_family_is_named_first() -> None:
    several = _operator("aten::cumsum", 0.21), _operator("aten::cumprod", 0.21)
    assert "aten::ctc_loss" in lead(run(_window(*several, _operator("aten::ctc_loss", 0.43)))).sentence
    assert "Running sums" in lead(run(_window(*several, _operator("aten::ctc_loss", 0.41)))).sentence


def test_a_window_with_stacks_tells_the_line_and_own_times_alone() -> None:
    """There callers are lines, by which nobody knows what is within what."""
    lines = (
        _operator("aten::linalg_qr", 0.22, "net.py:12 forward", total=0.9),
        _operator("aten::linalg_solve_triangular", 0.2, "net.py:13 forward", total=0.9),
    )
    finding = lead(run(_window(*lines)))
    assert finding.share == pytest.approx(0.42)
    assert finding.remedy is not None
    assert finding.remedy.at == "net.py:12 forward"
    assert "mostly at net.py:12 forward" in finding.sentence


def test_what_an_optimizer_or_a_loader_decomposes_is_theirs() -> None:
    for caller in ("Optimizer.step#Shampoo.step", "enumerate(DataLoader)#_BaseDataLoaderIter.__next__"):
        inner = (
            _operator("aten::linalg_eigh", 0.02, caller, total=0.6),
            _operator("aten::linalg_qr", 0.25, caller),
            _operator("aten::_linalg_eigh", 0.25, "aten::linalg_eigh"),
        )
        assert largest_family(report(operators=list(inner))) is None


def test_on_a_gpu_the_devices_time_counts() -> None:
    several = [
        _operator("aten::scatter_add_", 0.25, "aten::gather_backward", device=True),
        _operator("aten::index_add_", 0.25, "IndexSelectBackward0", device=True),
        _operator("aten::mm", 0.5, device=True),
    ]
    made = gpu_rank(report=report(operators=several))
    finding = found(run(made, gpus=(gpu(),)))["compute.operator"]
    assert finding.share == pytest.approx(0.5)
    assert finding.sentence.startswith("Scattered writes (aten::scatter_add_, aten::index_add_) hold 50 %")


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("aten::linalg_lu_factor_ex", 0),
        ("aten::_linalg_svd", 0),
        ("aten::cholesky_solve", 0),
        ("aten::triangular_solve", 0),
        ("aten::linalg_matrix_exp", 0),
        ("aten::inverse", 0),
        ("aten::pinverse", 0),
        ("aten::det", 0),
        ("LinalgEighBackward0", 0),
        ("autograd::engine::evaluate_function: LinalgQrBackward0", 0),
        ("aten::sort", 1),
        ("aten::_unique2", 1),
        ("TopkBackward0", 1),
        ("aten::_cumsum", 2),
        ("CumsumBackward0", 2),
        ("aten::logcumsumexp", 2),
        ("aten::scatter_add_", 3),
        ("aten::_index_put_impl_", 3),
        ("IndexAddBackward0", 3),
        ("aten::_fft_r2c", 4),
        ("FftC2RBackward0", 4),
        ("aten::stft", 4),
        ("aten::grid_sampler_2d", 5),
        ("UpsampleBilinear2DBackward0", 5),
        ("torchvision::roi_align", 5),
        ("aten::_cdist_forward", 6),
        ("CdistBackward0", 6),
    ],
)
def test_families(name: str, family: int) -> None:
    found = [place for place, each in enumerate(FAMILIES) if each.operators.match(spelled(name))]
    assert found == [family]


@pytest.mark.parametrize(
    "name",
    [
        "aten::mm",
        "aten::linear",
        "aten::convolution_backward",
        "aten::_scaled_dot_product_flash_attention",
        "aten::native_layer_norm",
        "aten::linalg_vector_norm",
        "LinalgVectorNormBackward0",
        "aten::linalg_norm",
        "aten::softmax",
        "aten::relu",
        "aten::elu",
        "aten::gelu",
        "aten::detach",
        "aten::einsum",
        "aten::lstm",
        "aten::copy_",
        "aten::select",
        "aten::index",
        "aten::index_select",
        "aten::embedding_dense_backward",
        "aten::max_pool2d_with_indices",
        "aten::dropout",
        "c10d::scatter_",
        "_c10d_functional::reduce_scatter_tensor",
        "gloo:scatter",
        "sort the batch",
        "AddmmBackward0",
        "Optimizer.step#Adam.step",
        "ProfilerStep#12",
    ],
)
def test_what_is_usual_is_of_no_family(name: str) -> None:
    assert not any(each.operators.match(spelled(name)) for each in FAMILIES)


@pytest.mark.parametrize(
    ("family", "line"),
    [
        (0, "return z @ w, torch.linalg.slogdet(w)[1]"),
        (0, "basis, scale = torch.linalg.eigh(cov)"),
        (1, "order = distances.argsort(-1)"),
        (2, "state = decay.cumsum(1)"),
        (3, "sums.index_add_(0, index, messages)"),
        (4, "spectrum = torch.fft.rfft2(images)"),
        (5, "x = F.interpolate(x, scale_factor=2)"),
        (6, "torch.cdist(points, points)"),
    ],
)
def test_lines_that_call_them(family: int, line: str) -> None:
    assert [place for place, each in enumerate(FAMILIES) if each.calls.search(line)] == [family]
