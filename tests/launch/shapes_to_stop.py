"""Trainings of many shapes that the stop ladder must end: what each is, and what must be true afterwards."""

from collections.abc import Callable
from dataclasses import dataclass

HANDLER = """
import os, signal, sys, time
def save(*_):
    open(os.environ["SAVED"], "w").write("whole"); sys.exit(0)
signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
while True: time.sleep(1)
"""
SLOW_HANDLER = """
import os, signal, sys, time
def save(*_):
    with open(os.environ["SAVED"], "w") as file:
        file.write("who"); file.flush(); time.sleep(5); file.write("le")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
while True: time.sleep(1)
"""
NO_HANDLER = """
import time
print("ready", flush=True)
while True: time.sleep(1)
"""
IGNORES_ALL = """
import signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_IGN)
print("ready", flush=True)
while True: time.sleep(1)
"""
BLOCKS_THE_SIGNAL = """
import signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("ready", flush=True)
while True: time.sleep(1)
"""
IGNORES_INTERRUPT = HANDLER.replace(
    "signal.signal(signal.SIGTERM",
    "signal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.signal(signal.SIGTERM",
)
HANGS_AT_EXIT = """
import os, signal, sys, threading, time
def save(*_):
    open(os.environ["SAVED"], "w").write("whole"); sys.exit(0)
signal.signal(signal.SIGTERM, save)
threading.Thread(target=threading.Event().wait).start()
print("ready", flush=True)
while True: time.sleep(1)
"""
FORKS = """
import os, signal, time
for _ in range(3):
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            while True: time.sleep(1)
        while True: time.sleep(1)
print("ready", flush=True)
while True: time.sleep(1)
"""
DAEMON = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True: time.sleep(1)
os.wait()
print("ready", flush=True)
while True: time.sleep(1)
"""
ZOMBIE = HANDLER.replace('print("ready"', 'if os.fork() == 0: os._exit(0)\ntime.sleep(0.2)\nprint("ready"')
FORKS_IN_THE_HANDLER = """
import os, signal, sys, time
def save(*_):
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    open(os.environ["SAVED"], "w").write("whole"); os._exit(0)
signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
while True: time.sleep(1)
"""
LAUNCHES = """
import os, subprocess, sys
sys.exit(subprocess.run([sys.executable, os.environ["CHILD"]]).returncode)
"""
SUSPENDED = HANDLER.replace(
    "while True: time.sleep(1)", "os.kill(os.getpid(), signal.SIGSTOP)\nwhile True: time.sleep(1)"
)
WORKERS = """
import os, signal, torch
from torch.utils.data import DataLoader, Dataset
torch.set_num_threads(1)
class Data(Dataset):
    def __len__(self): return 10 ** 6
    def __getitem__(self, at): return torch.zeros(4)
stop = []
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    for at, batch in enumerate(DataLoader(Data(), batch_size=4, num_workers=2)):
        if at == 5: print("ready", flush=True)
        if stop: break
    open(os.environ["SAVED"], "w").write("whole")
"""
BLOCKED_WORKERS = """
import time, torch
from torch.utils.data import DataLoader, Dataset
torch.set_num_threads(1)
class Data(Dataset):
    def __len__(self): return 10 ** 6
    def __getitem__(self, at): return [str(number) * 40 for number in range(20000)]
if __name__ == "__main__":
    batches = iter(DataLoader(Data(), batch_size=4, num_workers=2, collate_fn=list))
    next(batches)
    print("ready", flush=True)
    while True: time.sleep(1)
"""
RANKS = """
import os, signal, sys, torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
sys.stdout.write(f"ready {os.getpid()}\\n"); sys.stdout.flush()
while True:
    flag = torch.tensor([float(bool(stop))])
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    if flag.item(): break
if rank == 0: open(os.environ["SAVED"], "w").write("whole")
dist.barrier()
dist.destroy_process_group()
"""
STUBBORN_RANKS = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.stdout.write(f"ready {os.getpid()}\\n"); sys.stdout.flush()
while True: time.sleep(1)
"""


@dataclass(frozen=True)
class Shape:
    """One shape."""

    name: str
    text: str
    saves: bool = False
    """Whether its checkpoint must be there, whole."""
    grace_s: float = 20.0
    """Of the request; short where it is known to take no notice."""
    ranks: int = 0
    """Under torchrun."""
    restarts: int = 0
    kills: str = "nothing"
    """What is killed by -9 instead of asking: the command (an agent), or the keeper (of a trial)."""
    torch: bool = False
    through: Callable[[list[str]], list[str]] = list
    """What the script's command is wrapped into."""


def _under_shell(command: list[str]) -> list[str]:
    return ["sh", "-c", f"{' '.join(command)}; echo after"]


def _in_session(command: list[str]) -> list[str]:
    return ["setsid", "-w", *command]


def _without_environment(command: list[str]) -> list[str]:
    return ["env", "-i", *command]


SHAPES = (
    Shape("handler", HANDLER, saves=True),
    Shape("slow handler", SLOW_HANDLER, saves=True),
    Shape("no handler", NO_HANDLER),
    Shape("ignores every signal", IGNORES_ALL, grace_s=0.5),
    Shape("blocks the signal", BLOCKS_THE_SIGNAL, grace_s=0.5),
    Shape("ignores SIGINT", IGNORES_INTERRUPT, saves=True),
    Shape("hangs at its exit", HANGS_AT_EXIT, saves=True, grace_s=2.0),
    Shape("forks children that ignore it", FORKS, grace_s=1.0),
    Shape("has a daemon", DAEMON, grace_s=1.0),
    Shape("has a zombie", ZOMBIE, saves=True),
    Shape("forks in its handler", FORKS_IN_THE_HANDLER, saves=True, grace_s=2.0),
    Shape("under a shell", HANDLER, saves=True, through=_under_shell),
    Shape("in another session", HANDLER, saves=True, through=_in_session),
    Shape("in an empty environment", NO_HANDLER, through=_without_environment),
    Shape("ignores it in an empty environment", IGNORES_ALL, grace_s=0.5, through=_without_environment),
    Shape("forks in an empty environment", FORKS, grace_s=1.0, through=_without_environment),
    Shape(
        "killed keeper, in an empty environment", IGNORES_ALL, kills="keeper", through=_without_environment
    ),
    Shape("suspended", SUSPENDED, saves=True),
    Shape("killed keeper", NO_HANDLER, kills="keeper"),
    Shape("killed keeper, ignores every signal", IGNORES_ALL, kills="keeper"),
    Shape("killed keeper, has a daemon", DAEMON, kills="keeper"),
    Shape("workers", WORKERS, saves=True, torch=True),
    Shape("workers blocked in a pipe", BLOCKED_WORKERS, torch=True),
    Shape("killed, workers blocked in a pipe", BLOCKED_WORKERS, torch=True, kills="command"),
    Shape("ranks", RANKS, saves=True, ranks=2, torch=True),
    Shape("ranks that are restarted", RANKS, ranks=2, restarts=2, torch=True),
    Shape("ranks that ignore every signal", STUBBORN_RANKS, grace_s=1.0, ranks=2, torch=True),
    Shape("killed agent", RANKS, ranks=2, torch=True, kills="command"),
)
