"""Optimizers' steps that are told late: those of a backward's own threads, and those that a graph replays.

Apart from the hooks because they are not what the hooks saw happen: see `elsewhere` and `graph_replays`.
"""

from threading import get_ident
from time import perf_counter_ns, thread_time_ns

from perftui.trainer.probe.optimizer_cycle import BEGINS_AGAIN, ENDS, GOES_ON
from perftui.trainer.probe.recorder import Recorder
from perftui.trainer.probe.stamps import REPLAYED


def stepped_elsewhere(recorder: Recorder, begin_ns: int) -> bool:
    """A backward ends in which optimizers stepped in threads of autograd's; True where a step ends.

    Args:
        recorder: of this process; called in the training thread.
        begin_ns: when the backward began.
    """
    not_before_ns = 0
    if recorder.sleep.due:
        recorder.wake_up()
        not_before_ns = perf_counter_ns()
    stamps, keys = recorder.elsewhere.take(begin_ns, thread_time_ns(), not_before_ns=not_before_ns)
    recorder.ring.leave_row(stamps)
    turns = [_turn(recorder, key) for key in keys]
    return bool(turns and turns[-1] & ENDS)


def replayed(recorder: Recorder, optimizer: int) -> None:
    """A CUDA graph was replayed into which this optimizer has stepped."""
    if get_ident() != recorder.trainer and not recorder.claim_work():
        return
    if recorder.sleep.due:
        recorder.wake_up()
    recorder.backed = True
    turn = _turn(recorder, optimizer)
    at_ns = perf_counter_ns()
    recorder.ring.put(REPLAYED, at_ns, thread_time_ns(), optimizer)
    if turn & ENDS and recorder.batches >= recorder.sampling.next_at:
        recorder.at_step(at_ns, False)


def _turn(recorder: Recorder, optimizer: int) -> int:
    """Count an optimizer's step as one of the loop's, if no fetch does; see `OptimizerCycle.step`."""
    if recorder.batches != recorder.batches_stepped:  # the first to step since a fetch
        recorder.batches_stepped = recorder.batches
        return GOES_ON
    turn = recorder.cycle.step(optimizer, recorder.batches, backed=recorder.backed)
    recorder.backed = False
    if turn & BEGINS_AGAIN:
        recorder.batches += 1
        recorder.batches_stepped = recorder.batches
    return turn
