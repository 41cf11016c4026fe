"""Operators of one purpose under many names: a factorisation and its backward's solve, a sort and a topk.

Each alone may stay small where together they hold the step. Only families that models are not made of:
products, convolutions, attention, norms and whatever goes element by element are in none.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perftui.ipc.trace_report import CallerFigures, OperatorFigures, RankReport

_WORD_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BACKWARD = re.compile(r"(?:autograd::engine::evaluate_function: )?(?P<node>\w+Backward\d*)")
_EXCHANGE = ("gloo", "nccl", "c10d", "_c10d", "symm_mem", "torch_ccl")
_ELSEWHERE = ("Optimizer.", "enumerate(DataLoader)")
"""Callers whose time other findings speak of."""


@dataclass(frozen=True)
class Family:
    """Operators of one purpose."""

    name: str
    operators: re.Pattern[str]
    """Matches the beginning of their names, and of the names of their backward nodes in the same spelling."""
    calls: re.Pattern[str]
    """Found in a line of Python that calls one."""
    advice: str


@dataclass(frozen=True)
class Held:
    """What a family holds of a window."""

    family: Family
    share: float
    """Of the own time of all operators, with all that they call and their backward nodes."""
    members: tuple[OperatorFigures, ...]
    """Those that are operators, the largest own time first."""


def _family(name: str, operators: str, calls: str, advice: str) -> Family:
    return Family(name, re.compile(rf"(?:{operators})"), re.compile(rf"\b(?:{calls})\("), advice)


FAMILIES: tuple[Family, ...] = (
    _family(
        "Decompositions and solves of matrices",
        r"linalg_(?!vector_norm|matrix_norm|norm|cross|vecdot|matmul|multi_dot|diagonal)|cholesky|svd|"
        r"lu_(?:solve|unpack|with_info)|qr(?:_|\d|$)|geqrf|orgqr|ormqr|triangular_solve|matrix_exp|p?inverse|"
        r"(?:log|slog)?det(?:_|\d|$)|eigh?(?:_|\d|$)|symeig|lobpcg",
        r"(?:sl|l)?og?det|det|svd\w*|eigh?|eigvalsh?|eigvals|qr|cholesky\w*|p?inv\w*|solve\w*|lstsq|lu\w*|"
        r"matrix_(?:exp|power|rank)",
        "a form that needs none or a smaller one: factors that are triangular or orthogonal from the start; "
        "many small matrices in one call; every n-th step",
    ),
    _family(
        "Sorting and selecting",
        r"sort|argsort|msort|topk|kthvalue|median|nanmedian|unique|searchsorted|bucketize",
        r"(?:arg|m)?sort|topk|kthvalue|median|quantile|unique\w*|searchsorted|bucketize",
        "topk in place of a whole sort, a sort of fewer numbers, once for all layers, or in the dataset "
        "where it depends on the inputs alone",
    ),
    _family(
        "Running sums and products",
        r"cumsum|cumprod|cummax|cummin|logcumsumexp|cumulative_trapezoid",
        r"(?:log)?cum\w+",
        "a product with a triangular matrix, or blocks: sums within each, then over them; a fused scan",
    ),
    _family(
        "Scattered writes",
        r"scatter|index_(?:add|put|copy|reduce|fill)|segment_reduce|bincount|put_",
        r"scatter\w*|index_(?:add|put|copy|reduce|fill)\w*|bincount|segment_\w+",
        "sorted indices and sums over segments, a product with a sparse or one-hot matrix, or padded rows in "
        "place of scattered ones",
    ),
    _family(
        "Fourier transforms",
        r"fft_|i?stft|hfft|rfft|irfft",
        r"(?:i?r?h?fft[n2]?|i?stft)",
        "in the dataset where it depends on the inputs alone; lengths that are products of small primes; "
        "convolutions by products where the kernel is short",
    ),
    _family(
        "Sampling of grids",
        r"grid_sampler|cudnn_grid_sampler|affine_grid|upsample_|interpolate|roi_align",
        r"grid_sample|affine_grid|interpolate|[Uu]psample|roi_align",
        "smaller grids, nearest or bilinear in place of bicubic, channels last, or in the dataset where it "
        "depends on the inputs alone",
    ),
    _family(
        "Distances of all pairs",
        r"cdist|pdist|euclidean_dist|pairwise_distance",
        r"cdist|pdist|pairwise_distance",
        "squared distances from one product of matrices, in blocks, or of fewer points",
    ),
)


def largest_family(report: RankReport) -> Held | None:
    """Return the family that holds most of a window; None: none holds anything."""
    elsewhere = _elsewhere(report.operators)
    here = [each for each in report.operators if each.name not in elsewhere]
    held = [_held(report, family, here) for family in FAMILIES]
    return max((each for each in held if each.members), key=lambda each: each.share, default=None)


def spelled(name: str) -> str:
    """Return the name of an operator or a backward node as families spell it: `linalg_slogdet_backward0`.

    Empty: it is neither, as the marks that scripts set.
    """
    node = _BACKWARD.fullmatch(name)
    if node is not None:
        return _WORD_BEGINS.sub("_", node["node"]).lower()
    library, _, operator = name.partition("::")
    return "" if library.startswith(_EXCHANGE) else operator.lower().lstrip("_")


def _held(report: RankReport, family: Family, here: Sequence[OperatorFigures]) -> Held:
    mine = [each for each in here if family.operators.match(spelled(each.name))]
    operators = sorted((each for each in mine if _is_operator(each)), key=lambda each: -each.share)
    own = sum(each.share for each in mine)
    return Held(family, min(1.0, max(own, _with_contents(report, mine))), tuple(operators))


def _is_operator(figures: OperatorFigures) -> bool:
    return "::" in figures.name and not figures.name.startswith("autograd::")


def _with_contents(report: RankReport, mine: Sequence[OperatorFigures]) -> float:
    """Return the share of the members that no member calls, with all that they call.

    In a window with stacks callers are lines, which do not tell that: 0.
    """
    names = {each.name for each in mine}
    outer = [caller for each in mine for caller in each.callers if caller.caller not in names]
    if any(is_line(caller.caller) for caller in outer):
        return 0.0
    on_device = any(each.self_device_us is not None for each in mine)
    spent: Callable[[CallerFigures], float] = _on_device if on_device else _on_host
    own = (each.self_device_us if on_device else each.self_us for each in report.operators)
    return sum(map(spent, outer)) / max(1.0, sum(us or 0.0 for us in own))


def _on_device(caller: CallerFigures) -> float:
    return caller.device_us or 0.0


def _on_host(caller: CallerFigures) -> float:
    return caller.total_us


def is_line(caller: str) -> bool:
    """Tell whether a caller is a line (`net.py:12 forward`), as a window with stacks has it."""
    return ":" in caller.replace("::", "") and not caller.startswith("autograd")


def _elsewhere(operators: Sequence[OperatorFigures]) -> set[str]:
    """Return operators that the optimizer or the loader calls, mostly, and what these call."""
    found: set[str] = set()
    while True:
        more = {each.name for each in operators if _called_by(each).startswith(_ELSEWHERE)}
        more |= {each.name for each in operators if _called_by(each) in found}
        if more <= found:
            return found
        found |= more


def _called_by(figures: OperatorFigures) -> str:
    return figures.callers[0].caller if figures.callers else ""
