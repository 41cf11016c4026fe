"""The loop inside gpuprof's `profile()`: alone, as its quickstart shows, or with steps marked by hand."""

from importlib import import_module

from benchmarks.rivals.clock import Clock
from benchmarks.rivals.loop import train as train_plainly
from benchmarks.rivals.script import script_arguments, train_all
from benchmarks.rivals.tasks import Task

gpuprof = import_module("gpuprof")


def train(task: Task, clock: Clock) -> None:
    with gpuprof.profile("rivals"):
        train_plainly(task, clock)


def train_with_events(task: Task, clock: Clock) -> None:
    with gpuprof.profile("rivals", cuda=True):
        train_plainly(task, clock)


def train_by_hand(task: Task, clock: Clock) -> None:
    model, optimizer, loss_of = task.model, task.optimizer, task.loss_of
    with gpuprof.profile("rivals", auto=False) as prof:
        for index, (inputs, labels) in enumerate(task.batches):
            with prof.step(index):
                inputs = inputs.to(task.device, non_blocking=True)
                labels = labels.to(task.device, non_blocking=True)
                loss = loss_of(model(inputs), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if task.reads_loss:
                    loss.item()
            clock.tick()


if __name__ == "__main__":
    arguments = script_arguments()
    loops = {"auto": train, "cuda": train_with_events, "manual": train_by_hand}
    train_all(arguments, loops[arguments.mode])
