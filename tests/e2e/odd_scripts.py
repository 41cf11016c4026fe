"""Trainings that do what trainings seldom do, as text; each prints its losses and ends by its own code."""

BEGIN = """
import asyncio, atexit, cProfile, multiprocessing, os, resource
import signal, socket, subprocess, sys, threading, time
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
generator = torch.Generator().manual_seed(1)
labels = torch.randint(0, 3, (4000,), generator=generator)
data = TensorDataset(torch.randn(4000, 8, generator=generator), labels)

def made():
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 3)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)

def step(model, optimizer, inputs, labels):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    return loss.item().hex()

def train(steps, each=lambda number: time.sleep(0.005), **loader):
    model, optimizer = made()
    batches = iter(DataLoader(data, batch_size=4, **loader))
    for number in range(steps):
        print(number, step(model, optimizer, *next(batches)), flush=True)
        each(number)
"""

_GUARD = """
if __name__ == "__main__":
"""

ODD: dict[str, tuple[str, int]] = {
    "closes all descriptors again and again": (
        """
def close_all(number):
    time.sleep(0.005)
    if number % 7 == 3:
        os.closerange(3, 4096)
        kept.append(open(os.devnull))
        kept.append(socket.socketpair())
kept = []
train(400, close_all)
sys.exit(5)
""",
        5,
    ),
    "breaks an import of the probe, once": (
        """
class Once:
    left = 1
    def find_spec(self, name, path=None, target=None):
        if self.left and name == "perftui.trainer.probe.agent":
            self.left = 0
            raise OSError(9, "Bad file descriptor")
sys.meta_path.insert(0, Once())
train(200)
""",
        0,
    ),
    "closes one descriptor after the other": (
        """
def close_all(number):
    time.sleep(0.005)
    if number % 50 == 20:
        for each in range(3, 1100):
            try:
                os.close(each)
            except OSError:
                pass
train(200, close_all)
""",
        0,
    ),
    "becomes a daemon before it trains": (
        """
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.dup2(writer, 1)
    os.closerange(3, 4096)
    train(100)
    print("done", flush=True)
    os._exit(0)
os.close(writer)
with open(reader) as lines:
    print(lines.read())
sys.exit(3)
""",
        3,
    ),
    "works in a folder that is removed": (
        """
import tempfile
folder = tempfile.mkdtemp()
def leave(number):
    time.sleep(0.005)
    if number == 30:
        os.chdir(folder)
        os.rmdir(folder)
train(150, leave)
""",
        0,
    ),
    "is another program half way": (
        """
if len(sys.argv) == 1:
    train(60)
    os.execv(sys.executable, [sys.executable, sys.argv[0], "again"])
train(90)
sys.exit(9)
""",
        9,
    ),
    "leaves by os._exit": ("train(60)\nos._exit(11)\n", 11),
    "leaves by os._exit in a thread": (
        """
trained = threading.Event()
threading.Thread(target=lambda: (trained.wait(), os._exit(12))).start()
train(20)
trained.set()
time.sleep(60)
""",
        12,
    ),
    "trains in a thread": (
        """
worker = threading.Thread(target=train, args=(100,))
worker.start()
worker.join()
""",
        0,
    ),
    "waits for all its threads to end": (
        """
threading.Thread(target=time.sleep, args=(0.1,)).start()
train(100)
for each in threading.enumerate():
    if each is not threading.main_thread():
        each.join()
print(threading.active_count())
""",
        0,
    ),
    "clears its environment": (
        """
os.environ.clear()
train(100)
sys.exit(13)
""",
        13,
    ),
    "is left by a daemon thread that trains": (
        """
seen = threading.Event()
def train_on():
    model, optimizer = made()
    for inputs, labels in DataLoader(data, batch_size=4):
        step(model, optimizer, inputs, labels)
        seen.set()
threading.Thread(target=train_on, daemon=True).start()
seen.wait()
train(50)
sys.exit(4)
""",
        4,
    ),
    "has signal handlers and timers of its own": (
        """
told = []
signal.signal(signal.SIGALRM, lambda number, frame: told.append(number))
signal.signal(signal.SIGCHLD, lambda number, frame: told.append(number))
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
signal.signal(signal.SIGTERM, lambda number, frame: (print("asked to end"), sys.exit(21)))
signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
def each(number):
    time.sleep(0.003)
    if number == 40:
        subprocess.run(["true"], check=True)
    if number == 120:
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.kill(os.getpid(), signal.SIGTERM)
train(200, each)
""",
        21,
    ),
    "ends by an error within the loop": (
        """
def fail(number):
    if number == 50:
        raise ValueError("nan")
train(100, fail)
""",
        1,
    ),
    "ends by a signal of its own": (
        "train(50, lambda number: number == 40 and os.kill(os.getpid(), signal.SIGKILL))\n",
        137,
    ),
    "aborts": ("train(50, lambda number: number == 40 and os.abort())\n", 134),
    "trains on while the interpreter ends": (
        """
atexit.register(train, 40)
class Late:
    def __del__(self):
        print("late", flush=True)
late = Late()
train(40)
sys.exit(6)
""",
        6,
    ),
    "has its descriptors used up": (
        """
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
kept = []
def use_up(number):
    time.sleep(0.005)
    try:
        while True:
            kept.append(open(os.devnull))
    except OSError:
        pass
    if number % 40 == 39:
        kept.clear()
train(200, use_up)
""",
        0,
    ),
    "has none left before it trains": (
        """
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
made()
next(iter(DataLoader(data)))  # what these import needs descriptors, too
kept = []
try:
    while True:
        kept.append(open(os.devnull))
except OSError:
    pass
train(100)
""",
        0,
    ),
    "has no address space for another thread": (
        """
model, optimizer = made()
torch.nn.functional.cross_entropy(model(data[:4][0]), data[:4][1])
size = int(open("/proc/self/statm").read().split()[0]) * 4096
_, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (size + 4 * 2**20, hard))
for number in range(60):
    at = number * 4
    print(number, step(model, optimizer, *data[at : at + 4]), flush=True)
    time.sleep(0.005)
    if number == 30:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
""",
        0,
    ),
    "profiles itself": (
        """
profile = cProfile.Profile()
profile.runcall(train, 100)
print([each.callcount for each in profile.getstats() if getattr(each.code, "co_name", "") == "step"])
""",
        0,
    ),
    "is traced": (
        """
lines = [0]
def tracer(frame, event, argument):
    if frame.f_code.co_name == "step":
        lines[0] += event == "line"
        return tracer
sys.settrace(tracer)
train(60)
sys.settrace(None)
print(lines)
""",
        0,
    ),
    "has torch's profiler on": (
        """
from torch.profiler import ProfilerActivity, profile
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    train(30)
print(sum(event.name == "aten::linear" for event in profiler.events()))
""",
        0,
    ),
    "has no ZeroMQ": (
        """
class None_:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "zmq":
            raise ModuleNotFoundError("No module named 'zmq'", name="zmq")
sys.meta_path.insert(0, None_())
train(100)
""",
        0,
    ),
    "speaks ZeroMQ itself": (
        """
import zmq
context = zmq.Context.instance()
server, client = context.socket(zmq.REP), context.socket(zmq.REQ)
port = server.bind_to_random_port("tcp://127.0.0.1")
client.connect(f"tcp://127.0.0.1:{port}")
def talk(number):
    client.send(b"%d" % number)
    server.send(server.recv() + b"!")
    print(client.recv())
train(80, talk)
server.close()
client.close()
context.term()
sys.exit(8)
""",
        8,
    ),
    "trains under asyncio": (
        """
async def main():
    loop = asyncio.get_running_loop()
    told = []
    loop.add_signal_handler(signal.SIGUSR1, told.append, "told")
    model, optimizer = made()
    for number in range(80):
        at = number * 4
        print(number, await loop.run_in_executor(None, step, model, optimizer, *data[at : at + 4]))
        await asyncio.sleep(0.002)
        if number == 40:
            os.kill(os.getpid(), signal.SIGUSR1)
    print(told)
    raise SystemExit(14)
asyncio.run(main())
""",
        14,
    ),
    "forks its workers": (
        _GUARD + "    train(60, num_workers=2, multiprocessing_context='fork')\n    sys.exit(2)\n",
        2,
    ),
    "spawns its workers": (
        _GUARD + "    train(60, num_workers=2, multiprocessing_context='spawn')\n    sys.exit(2)\n",
        2,
    ),
    "has a server fork its workers": (
        _GUARD + "    train(60, num_workers=2, multiprocessing_context='forkserver')\n    sys.exit(2)\n",
        2,
    ),
    "ends with its workers at work": (
        _GUARD + "    train(60, num_workers=2, persistent_workers=True)\n    raise SystemExit(16)\n",
        16,
    ),
    "trains in processes of its own": (
        """
def child(rank, answers):
    model, optimizer = made()
    answers.put((rank, [step(model, optimizer, *data[at * 4 : at * 4 + 4]) for at in range(40)]))
"""
        + _GUARD
        + """
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    children = [context.Process(target=child, args=(rank, answers)) for rank in range(2)]
    for each in children:
        each.start()
    print(sorted(answers.get() for _ in children))
    print([(each.join(), each.exitcode) for each in children])
    sys.exit(17)
""",
        17,
    ),
}
"""By what it does: the script after its beginning, and the code that it ends by."""


def odd_script(name: str) -> str:
    """Return the text of a script."""
    return BEGIN + ODD[name][0]
