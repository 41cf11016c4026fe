"""The plain loop; perftui and train-doctor run it as it is."""

from benchmarks.rivals.clock import Clock
from benchmarks.rivals.script import script_arguments, train_all
from benchmarks.rivals.tasks import Task


def train(task: Task, clock: Clock) -> None:
    model, optimizer, loss_of = task.model, task.optimizer, task.loss_of
    for inputs, labels in task.batches:
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
    train_all(script_arguments(), train)
