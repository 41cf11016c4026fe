"""Holds the recorded steps against the script's own clock.

No duration is compared with an absolute one. Our hooks lie between two clocks of the script: what it measured
inside (its data set, its forward and backward) is never longer than what we recorded, and what it measured
outside (round `next`) never shorter. That holds on any host, however busy.
"""

from statistics import median

from perftui.ipc.messages import FLAG_EPOCH_START, FLAG_WAIT_UNKNOWN, UNUSUAL_FLAGS

from .seen import Own, Seen, Span, Step

A_FEW_PER_CENT = 0.05


def assert_counts(seen: Seen, micro_batches: list[int], rank: int = 0, batch_size: int = 4) -> None:
    """Steps, samples and micro-batches are the script's, and none was dropped or marked as failed."""
    steps, own, summary = seen.steps(rank), seen.owns[rank], seen.rank(rank)
    assert summary["steps"] == len(own.steps) == len(micro_batches), "as the script counts"
    assert (summary["dropped"], summary["probe_errors"]) == (0, 0)
    assert [step.step for step in steps] == list(range(len(own.steps)))
    assert [step.micro_batches for step in steps] == micro_batches
    assert [step.samples for step in steps] == [batch_size * count for count in micro_batches]
    assert [step.step for step in steps if step.flags & UNUSUAL_FLAGS] == [], "no step was unusual"


def assert_epochs(seen: Seen, rank: int = 0) -> None:
    """Each step lies in the epoch the script was in, and each epoch's first step says so."""
    steps, own = seen.steps(rank), seen.owns[rank]
    epochs = [own.epoch_of(moment) for moment in own.steps]
    assert [step.epoch for step in steps] == epochs
    firsts = [bool(step.flags & FLAG_EPOCH_START) for step in steps]
    assert firsts == [epoch not in epochs[:place] for place, epoch in enumerate(epochs)]


def assert_boundaries(seen: Seen, rank: int = 0) -> None:
    """Each step ends between its optimizer step and the next batch that is asked for, the last at once."""
    steps, own = seen.steps(rank), seen.owns[rank]
    for place, (step, stamp) in enumerate(zip(steps, own.steps, strict=True)):
        following = own.next_batch_after(stamp)
        if step is not steps[-1]:
            assert following is not None
            assert stamp <= step.end_ns <= following, f"step {place}"
        else:
            assert own.forwards[-1].end < step.end_ns <= (following or stamp)
    assert seen.rank(rank)["boundary"] == "optimizer"


def assert_waits(seen: Seen, rank: int = 0) -> None:
    """Each step waited for the batches fetched in it, as long as the script itself measured."""
    steps, own = seen.steps(rank), seen.owns[rank]
    inside = own.per_step(own.fetches)
    assert_never_shorter([step.wait_ns for step in steps], inside)
    ratios = [step.wait_ns / ns for step, ns in zip(steps, inside, strict=True) if ns]
    assert median(ratios) <= 1 + A_FEW_PER_CENT
    if own.nexts:
        assert_never_shorter(_outside(own, steps), [step.wait_ns for step in steps])
    shares = [share for share in seen.rank(rank)["shares"].values() if share is not None]
    assert abs(sum(shares) - 1) <= 0.01


def assert_one_batch_ahead(seen: Seen) -> None:
    """The first step fetched two batches, each other one the next step's, and an epoch's last none."""
    own = seen.owns[0]
    waits = own.per_step(own.fetches)
    assert waits[0] == own.fetches[0].ns + own.fetches[1].ns
    assert waits[1:8] == [*(fetch.ns for fetch in own.fetches[2:8]), 0], "shifted by one batch"


def _outside(own: Own, steps: list[Step]) -> list[int]:
    """Return the time round `next` by step; unbounded where an epoch starts and `iter` was not timed."""
    spans = own.per_step(own.nexts)
    timed = len(own.nexts) > len(own.fetches) + len(own.epochs)
    return [
        1 << 62 if step.flags & FLAG_EPOCH_START and not timed else ns
        for step, ns in zip(steps, spans, strict=True)
    ]


def assert_never_shorter(longer: list[int], shorter: list[int]) -> None:
    """Compare step by step, in ns."""
    found = [
        f"step {step}: {one} < {other}"
        for step, (one, other) in enumerate(zip(longer, shorter, strict=True))
        if one < other
    ]
    assert found == []


def assert_phases(seen: Seen, rank: int = 0) -> None:
    """Forward and backward hold the script's own, for every micro-batch, and all parts fit into the wall."""
    steps, own = seen.steps(rank), seen.owns[rank]
    assert all(
        step.wait_ns + step.forward_ns + step.backward_ns + step.optimizer_ns <= step.wall_ns
        for step in steps
    )
    assert_never_shorter([step.backward_ns for step in steps], own.per_step(own.backwards))
    assert_never_shorter([step.forward_ns for step in steps], own.per_step(own.forwards))
    shares = seen.rank(rank)["shares"]
    assert None not in (shares["backward"], shares["optimizer"])
    fetched = any(not step.flags & FLAG_WAIT_UNKNOWN for step in steps)
    assert (shares["forward"] is not None) == fetched, "without a fetch nobody knows where it began"


def assert_validations(seen: Seen, rank: int = 0) -> None:
    """Each validation is one gap, with its batches, and its time is in no step's wall."""
    steps, own = seen.steps(rank), seen.owns[rank]
    events = sorted(seen.events("validation", rank), key=lambda event: event.at_ns)
    within = [[f for f in own.validation_fetches if v.holds(f.begin)] for v in own.validations]
    assert [event.text for event in events] == [f"{len(fetches)} batches" for fetches in within]
    assert [event.step for event in events] == [validation.steps for validation in own.validations]
    for event, validation, fetches in zip(events, own.validations, within, strict=True):
        before = own.steps[validation.steps - 1] if validation.steps else own.begin
        assert before <= event.at_ns <= fetches[0].begin
        assert event.duration_ns >= fetches[-1].end - fetches[0].begin
    ends = [own.begin, *(step.end_ns for step in steps)]
    for place, step in enumerate(steps):
        outside = sum(s[-1].end - s[0].begin for s in within if ends[place] <= s[0].begin < step.end_ns)
        assert step.wall_ns <= step.end_ns - ends[place] - outside, f"step {step.step}"


def assert_checkpoints(seen: Seen, rank: int = 0) -> None:
    """Each of the script's own saves is one checkpoint, however many files, within it and at its step."""
    own = seen.owns[rank]
    events = sorted(seen.events("checkpoint", rank), key=lambda event: event.at_ns)
    assert len(events) == len(own.saves)
    for save, event in zip(own.saves, events, strict=True):
        assert save.holds(event.at_ns)
        assert save.holds(event.at_ns + event.duration_ns)
        assert event.step in (save.steps - 1, save.steps)


def assert_apart(seen: Seen, rank: int = 0) -> None:
    """No checkpoint is counted as part of a validation."""
    validations, checkpoints = seen.events("validation", rank), seen.events("checkpoint", rank)
    assert validations
    assert checkpoints
    for validation in validations:
        span = Span(validation.at_ns, validation.at_ns + validation.duration_ns)
        assert [event.text for event in checkpoints if span.begin <= event.at_ns < span.end] == []


def covered(span: Span, seen: Seen, kind: str, rank: int = 0) -> float:
    """Return which share of a span the events of a kind that begin in it last."""
    return sum(e.duration_ns for e in seen.events(kind, rank) if span.holds(e.at_ns)) / span.ns


def workers_setting(seen: Seen) -> str:
    """Return the name under which the training loader's workers can be set."""
    (name,) = (name for name in seen.rank()["settings"] if name.endswith(".num_workers"))
    return str(name)


def assert_two_workers(seen: Seen, name: str) -> None:
    """The setting reached the framework's training loader, and what is told is so."""
    summary = seen.rank()
    assert (summary["settings"].get(name), summary["settings_failed"]) == (2, {})
    assert seen.owns[0].workers == 2
    assert len(seen.steps()) == len(seen.owns[0].steps)
