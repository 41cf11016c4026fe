"""The loop with the two edits of TraceML's quickstart: `init` before it, `trace_step` round each step."""

from importlib import import_module

from benchmarks.rivals.clock import Clock
from benchmarks.rivals.script import script_arguments, train_all
from benchmarks.rivals.tasks import Task

traceml = import_module("traceml_ai")


def train(task: Task, clock: Clock) -> None:
    model, optimizer, loss_of = task.model, task.optimizer, task.loss_of
    for inputs, labels in task.batches:
        with traceml.trace_step(model):
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
    traceml.init(mode=arguments.mode)
    train_all(arguments, train)
