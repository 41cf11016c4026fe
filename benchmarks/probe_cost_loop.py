"""The loop that `probe_cost.py` measures: a small MLP, timed from inside and ignorant of perftui."""

import argparse
import json
import time

import torch
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    """Train, and print what a step cost the training thread, as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--warm-up", type=int, required=True)
    parser.add_argument("--modules", type=int, required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = [torch.nn.Linear(32, 32) for _ in range(args.modules - 1)]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    samples = args.batch_size * (args.steps + args.warm_up)
    data = TensorDataset(torch.randn(samples, 32), torch.randint(4, (samples,)))
    cpu_ns = wall_ns = 0
    for step, (inputs, labels) in enumerate(DataLoader(data, batch_size=args.batch_size)):
        if step == args.warm_up:
            cpu_ns, wall_ns = time.thread_time_ns(), time.perf_counter_ns()
        loss = loss_of(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    cpu_ns, wall_ns = time.thread_time_ns() - cpu_ns, time.perf_counter_ns() - wall_ns
    print(
        json.dumps({"cpu_us": cpu_ns / args.steps / 1e3, "wall_us": wall_ns / args.steps / 1e3}), flush=True
    )


if __name__ == "__main__":
    main()
