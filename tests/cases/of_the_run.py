"""Scripts in which the trouble lies in the run as a whole: pauses, memory, drift, what the data mean."""

from tests.cases.case import Case

OF_THE_RUN = (
    Case(
        "collects_garbage",
        ("pause.gc",),
        report="R168",
        mend=(("            gc.collect()\n", ""),),
    ),
    Case(
        "saves_every_20_steps",
        ("pause.checkpoint",),
        report="R245",
        mend=(
            (
                "        if step % 20 == 0:\n",
                "        if step % 20 == 0:\n            print(f'step {step}', flush=True)\n"
                "        if step % 20000 == 0:\n",
            ),
        ),
    ),
    Case(
        "validates_too_often",
        ("pause.validation",),
        report="R243",
        mend=(("accuracy {validate():.3f}", ""),),
    ),
    Case(
        "writes_histograms",
        ("pause.logging",),
        report="R239",
        mend=(("            log_metrics(step, loss.item())\n", ""),),
    ),
    Case(
        "collector_switched_off",
        ("memory.host_growth",),
        costs_time=False,
        seconds=30,
        report="R094",
        mend=(("gc.disable()\n", ""),),
    ),
    Case(
        "solver_takes_more_steps",
        ("drift.slower",),
        seconds=40,
        report="R236",
        mend=(("4 + step // 25", "4"),),
    ),
    Case(
        "prefetches_into_shm",
        ("memory.shm",),
        costs_time=False,
        report="R086",
        shm_mib=64,
        mend=(("prefetch_factor=4", "prefetch_factor=1"),),
    ),
    Case(
        "workers_seeded_alike",
        ("data.worker_seed",),
        costs_time=False,
        report="R176",
        mend=(("np.random.seed(42)", "np.random.seed(42 + worker_id)"),),
    ),
    Case(
        "draws_a_bar",
        ("pause.logging", "cpu.python"),
        report="R240",
        mend=(("        draw_bar(step, loss.item())\n", ""),),
        note="logging at every step is Python work of the training thread: two names of one thing",
    ),
    Case(
        "keeps_the_graphs",
        ("memory.host_growth",),
        costs_time=False,
        seconds=30,
        mend=(
            (
                "loss.detach(), penalty, model(images).mean()",
                "loss.item(), penalty.item(), model(images).mean().item()",
            ),
        ),
    ),
    Case(
        "sums_the_whole_history",
        ("drift.slower", "cpu.python"),
        seconds=40,
        mend=(("sum(guesses) / len(guesses)", "guesses[-1]"),),
        note="steps get slower, and it is Python of the training thread that makes them so",
    ),
    Case(
        "stream_read_twice",
        ("data.iterable_duplicates",),
        costs_time=False,
        seconds=30,
        mend=(
            (
                "for number, picture in enumerate(PICTURES):",
                "for number in range(get_worker_info().id, len(PICTURES), 2):",
            ),
            ("yield picture,", "yield PICTURES[number],"),
            ("import DataLoader, IterableDataset", "import DataLoader, IterableDataset, get_worker_info"),
        ),
    ),
)
