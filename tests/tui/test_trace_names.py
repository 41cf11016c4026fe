"""Names from traces: shortened so that they still tell things apart, and harmless."""

import pytest
from rich.cells import cell_len

from perftui.tui.format import change, visible
from perftui.tui.renderables.lines import plain
from perftui.tui.renderables.trace_names import fold, label, middle_cut, short_name
from tests.tui.trace_scenes import GEMM, HOSTILE, LONG_KERNEL


@pytest.mark.parametrize(
    ("width", "shortened"),
    [
        (200, LONG_KERNEL),
        (110, LONG_KERNEL.removeprefix("void ").partition("(")[0]),
        (90, "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, std::array<char*, 3ul> >"),
        (70, "vectorized_elementwise_kernel<4, CUDAFunctor_add<…>, std::array<…> >"),
        (50, "vectorized_elementwise_kernel<4, CUDAFunctor_add…>"),
        (36, "vectorized_…kernel<4, CUDAFunctor_…>"),
        (29, "vectorized_elementwise_kernel"),
        (20, "vectorized_e…_kernel"),
    ],
)  # fmt: skip
def test_a_kernel_loses_parameters_then_namespaces_then_arguments_from_within(
    width: int, shortened: str
) -> None:
    assert short_name(LONG_KERNEL, width) == shortened


def test_a_name_without_arguments_is_cut_in_its_middle() -> None:
    assert short_name(GEMM, 30) == "sm90_xmma_gemm_bf1…__5x_cublas"


@pytest.mark.parametrize(
    "name",
    [
        "Memcpy HtoD (Pageable -> Device)",
        "autograd::engine::evaluate_function: ConvolutionBackward0",
        "<built-in method conv2d of type object at 0x7f>",
        "torch/nn/modules/module.py(1501): _call_impl",
    ],
)
def test_names_that_are_no_kernels_keep_what_stands_in_brackets(name: str) -> None:
    assert short_name(name, 80) == name
    cut = short_name(name, len(name) - 4)
    assert (cut[:8], cut[-4:], "…" in cut) == (name[:8], name[-4:], True)


@pytest.mark.parametrize(
    "name",
    [
        "f<",
        "f>",
        "void f<a->b, operator<(x), c<d> >::g(int)",
        "a::b<" * 300,
        ")" * 50 + "::",
        "",
        "名前" * 40,
    ],
)
@pytest.mark.parametrize("width", [0, 1, 3, 4, 12, 40])
def test_no_name_is_wider_than_its_room(name: str, width: int) -> None:
    assert cell_len(short_name(name, width)) <= width


def test_a_name_of_two_thousand_characters_is_folded_without_loss() -> None:
    name = "void k<" + ", ".join(f"Argument<{n}>" for n in range(200)) + ">(int)"
    assert len(name) > 2000
    assert cell_len(short_name(name, 60)) <= 60
    assert "".join(plain(part) for part in fold(name, 76)) == name


def test_control_characters_are_replaced_and_nothing_of_the_text_is_lost() -> None:
    shown = visible(HOSTILE)
    assert shown == "evil\ufffd]0;title\ufffd [bold]kernel[/bold]\ufffd\ufffdnext"
    assert visible("a\tb\u202ec") == "a b\ufffdc"
    assert visible("aten::add_") == "aten::add_"


def test_middle_cut_counts_cells_and_not_characters() -> None:
    assert middle_cut("名前名前名前", 7) == "名前…前"
    assert middle_cut("abcdefgh", 8) == "abcdefgh"


def test_a_change_has_its_sign() -> None:
    assert [change(value) for value in (1500.0, -20.0, 0.0, None)] == ["+1.50 ms", "−20.0 µs", "0.00 µs", "—"]


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [
        (LONG_KERNEL, 8, "vectoriz"),
        ("aten::add_", 8, "add_"),
        ("autograd::engine::evaluate_function: ConvolutionBackward0", 6, "Convol"),
        ("ncclKernel_AllReduce_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", 12, "ncclKernel_A"),
        ("forward", 9, "forward"),
    ],
)
def test_a_narrow_span_is_labelled_with_what_tells_most(name: str, width: int, shown: str) -> None:
    assert label(name, width) == shown


def test_a_function_of_c_loses_its_parameters_and_a_line_of_python_does_not() -> None:
    assert short_name("ncclKernel_Sum(ncclDevComm*, unsigned long, ncclWork*)", 30) == "ncclKernel_Sum"
    assert short_name("train_with_a_long_name.py(88): step", 20).endswith(": step")
