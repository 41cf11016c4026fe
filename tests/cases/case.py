"""What the test bed says of a script: how it is started, and which finding must lead on it."""

from dataclasses import dataclass
from pathlib import Path

SCRIPTS = Path(__file__).parent / "scripts"
HEALTHY = ("compute.bound",)


@dataclass(frozen=True)
class Case:
    """One plain training script with one cause.

    Args:
        script: name of the file below `scripts`, without its ending.
        expected: code of the leading finding; several only where they are names of one thing: see `note`.
        seconds: how long it is watched past its warm-up.
        ranks: processes of torchrun; 1: none, the script is started by itself.
        gpus: GPUs it needs; 0: it runs on a CPU.
        report: number of the public report it restates.
        frozen: the expected code was committed before a rule was tuned.
        fresh: written after the rules, and without regard to them: the table tells its rate apart.
        mend: texts in the script and what a mended script has in their place.
        mended_samples: samples that a step of the mended script takes, over those of a step here.
        costs_time: the trouble is one of time; how much of it is in `truth.json`, by the stopwatch of
            `tests.cases.truth`, which knows nothing of perftui.
        busy: processes that keep a core busy beside it.
        gpu_neighbour: a process beside it keeps its first GPU busy.
        shm_mib: size of its /dev/shm, where not the machine's own.
        note: what a reader of the table must know.
    """

    script: str
    expected: tuple[str, ...]
    seconds: float = 20.0
    ranks: int = 1
    gpus: int = 0
    report: str | None = None
    frozen: bool = True
    fresh: bool = False
    mend: tuple[tuple[str, str], ...] = ()
    mended_samples: float = 1.0
    costs_time: bool = True
    busy: int = 0
    gpu_neighbour: bool = False
    shm_mib: int | None = None
    note: str = ""

    @property
    def name(self) -> str:
        """Return what the case is called: a script may be in more than one."""
        return f"{self.script}+busy" if self.busy else self.script

    @property
    def healthy(self) -> bool:
        """Nothing is to be mended in it."""
        return self.expected == HEALTHY

    def text(self) -> str:
        """Return the script."""
        return (SCRIPTS / f"{self.script}.py").read_text()

    def mended_text(self) -> str:
        """Return the script without its cause.

        Raises:
            ValueError: there is no mend, or it does not fit the script.
        """
        text = self.text()
        if not self.mend:
            raise ValueError(f"{self.script}: no mend is known")
        for faulty, mended in self.mend:
            if faulty not in text:
                raise ValueError(f"{self.script}: {faulty!r} is not in it")
            text = text.replace(faulty, mended)
        return text
