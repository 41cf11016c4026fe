"""What the procedure says of neighbouring launches in chains. Pure.

Of identical settings the first launch of a pair is A, the second B; then the next pair begins with what was
B. Pairs of one chain share launches, so they are not independent, and an exact interval over them is a little
too narrow. Of an injected change a pair is an A and a B that follow each other, none in two pairs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

import msgspec

from benchmarks.verdicts.binomial import exact_interval
from benchmarks.verdicts.records import Campaign, ChainLaunch
from perftui.ipc.ledger_records import Launch, Verdict
from perftui.trainer.tuning.judge import judge, next_launch
from perftui.trainer.tuning.known_noise import no_less_than_long_launches
from perftui.trainer.tuning.noise import Seen, is_learned, learned_noise
from perftui.trainer.tuning.procedure import ORDER
from perftui.trainer.tuning.regression import DEFAULT_NOISE, Label, Noise
from perftui.trainer.tuning.verdict import SE_LIMIT

REFUSALS = ("too_noisy", "repeats_disagree")
_CALLED = ("faster", "slower")
_MOST_LAUNCHES = 4
_OF_A_WINDOW = 8


def summary_of(campaign: Campaign) -> dict[str, Any]:
    """Return what is said of all pairs and of whole comparisons, by neighbour and together."""
    found: dict[str, Any] = {"launches": len(campaign.launches)}
    for name, kinds in (
        ("idle", ("none",)),
        ("busy", ("steady", "bursts")),
        ("all", ("none", "steady", "bursts")),
    ):
        chains = [chain for chain in _chains(campaign.launches) if chain[0].neighbour in kinds]
        found[name] = {
            "launch": _of_launches(chains),
            "pairs, nothing known of the host": _counts(_pairs(chains, campaign, learn=False)),
            "pairs, noise learned from the launches before": _counts(_pairs(chains, campaign, learn=True)),
            "comparisons of up to four launches": _counts(_comparisons(chains, campaign)),
        }
    return found


def _chains(launches: Sequence[ChainLaunch]) -> list[list[ChainLaunch]]:
    """Return each unbroken chain in order."""
    ordered = sorted(launches, key=lambda each: (each.chain, each.place))
    return [list(group) for _, group in groupby(ordered, key=lambda each: each.chain)]


def _pairs(chains: Sequence[list[ChainLaunch]], campaign: Campaign, *, learn: bool) -> Iterator[Verdict]:
    identical = campaign.injected == 1
    for chain in chains:
        for first, second in pairwise(chain):
            if not identical and (first.place % 2 or first.launch.label == second.launch.label):
                continue
            known = _noise_before(first, campaign) if learn else DEFAULT_NOISE
            pair = [first.launch, second.launch]
            yield judge(_named(pair, ("A", "B")) if identical else pair, known, campaign.lane_cores)


def _comparisons(chains: Sequence[list[ChainLaunch]], campaign: Campaign) -> Iterator[Verdict]:
    """Judge four launches as a relaunch does: it looks after two and three, and may stop there."""
    for chain in chains:
        for begin in range(0, len(chain) - _MOST_LAUNCHES + 1, _MOST_LAUNCHES):
            four = _named([each.launch for each in chain[begin : begin + _MOST_LAUNCHES]], ORDER)
            known = _noise_before(chain[begin], campaign)
            looks = (four[:count] for count in range(2, _MOST_LAUNCHES + 1))
            seen = next(
                (
                    look
                    for look in looks
                    if next_launch(look, known, campaign.lane_cores, _MOST_LAUNCHES) is None
                ),
                four,
            )
            yield judge(seen, known, campaign.lane_cores)


def _named(launches: Sequence[Launch], labels: Sequence[Label]) -> list[Launch]:
    return [
        msgspec.structs.replace(launch, label=label) for launch, label in zip(launches, labels, strict=False)
    ]


def _noise_before(launch: ChainLaunch, campaign: Campaign) -> Noise:
    """Return what a ledger would know: from the earlier launches of this kind of chain."""
    earlier = [
        each
        for each in campaign.launches
        if each.neighbour == launch.neighbour and each.launch.started_unix < launch.launch.started_unix
    ]
    learned = learned_noise(
        [
            _window(chain[begin : begin + _OF_A_WINDOW])
            for chain in _chains(earlier)
            for begin in range(0, len(chain), _OF_A_WINDOW)
        ]
    )
    return no_less_than_long_launches(learned, [each.launch for each in earlier])


def _window(launches: Sequence[ChainLaunch]) -> list[Seen]:
    return [
        Seen(each.launch.label, each.launch.log_step_s, each.launch.se, each.launch.foreign_cores or 0.0)
        for each in launches
        if each.launch.log_step_s is not None
        and each.launch.se is not None
        and each.launch.se <= SE_LIMIT
        and each.launch.settled
    ]


def _counts(verdicts: Iterator[Verdict]) -> dict[str, object]:
    """Return how many there are of each word, the shares that matter with their exact 95 % intervals."""
    all_of_them = list(verdicts)
    words: Counter[str] = Counter(each.verdict for each in all_of_them)
    total = len(all_of_them)
    found: dict[str, object] = {"number": total, "words": dict(words)}
    if total:
        found["called faster or slower"] = _share(sum(words[word] for word in _CALLED), total)
        found["called faster"] = _share(words["faster"], total)
        found["refused"] = _share(sum(words[word] for word in REFUSALS), total)
        reasons = Counter(each.sentence.split(":")[0] for each in all_of_them if each.verdict in REFUSALS)
        found["why refused"] = dict(reasons)
        failed = Counter(each.sentence for each in all_of_them if each.verdict == "failed")
        found["why failed"] = dict(failed)
    return found


def _share(hits: int, total: int) -> dict[str, float]:
    low, high = exact_interval(hits, total)
    return {"number": hits, "share": round(hits / total, 4), "lo": round(low, 4), "hi": round(high, 4)}


def _of_launches(chains: Sequence[list[ChainLaunch]]) -> dict[str, object]:
    """Return how launches of one setting differ, and how well each is known."""
    launches = [each.launch for chain in chains for each in chain]
    errors = sorted(launch.se for launch in launches if launch.se is not None)
    noise = learned_noise([_window(chain) for chain in chains])
    return {
        "number": len(launches),
        "unmeasured": len(launches) - len(errors),
        "se_median": round(errors[len(errors) // 2], 5) if errors else None,
        "launch_noise": round(noise.tau0, 5),
        "launch_noise_learned": is_learned(noise),
    }
