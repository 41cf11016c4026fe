"""Scripts whose input is at fault: loaders, workers, storage, the cores they share."""

from tests.cases.case import Case

INPUT = (
    Case(
        "images_no_workers",
        ("input.workers",),
        report="R002",
        mend=(("resize((640, 480))", "resize((80, 60))"),),
    ),
    Case("one_worker", ("input.workers",), report="R004", mend=(("num_workers=1", "num_workers=2"),)),
    Case(
        "graphs_in_main",
        ("input.workers",),
        report="R009",
        mend=(("torch.linalg.eigh(torch.from_numpy(np.diag(adjacency.sum(1)) - adjacency))", "torch.from_numpy(adjacency[0]), torch.from_numpy(adjacency)"),),
        note="the report's wait is a quarter of the step",
    ),
    Case(
        "workers_for_tensors",
        ("input.too_many_workers",),
        report="R012",
        mend=(("num_workers=8, persistent_workers=True", "num_workers=0"),),
    ),
    Case(
        "ranks_times_workers",
        ("input.too_many_workers", "cpu.oversubscribed"),
        ranks=2,
        report="R003",
        mend=(("num_workers=16", "num_workers=1"),),
        note="32 processes and their BLAS threads on two cores: too many workers and too many for the cores are one thing",
    ),
    Case(
        "spawned_workers",
        ("input.epoch_start",),
        seconds=40,
        report="R023",
        mend=(("num_workers=2, multi", "num_workers=2, persistent_workers=True, multi"),),
    ),
    Case(
        "workers_read_an_index",
        ("input.epoch_start",),
        seconds=30,
        report="R032",
        mend=(("num_workers=2", "num_workers=2, persistent_workers=True"),),
    ),
    Case(
        "four_batch_epochs",
        ("input.epoch_start",),
        report="R034",
        mend=(("num_workers=4", "num_workers=4, persistent_workers=True"),),
    ),
    Case(
        "lengths_by_touching",
        ("input.epoch_start",),
        seconds=30,
        report="R037",
        mend=(("len(self.data[index])", "self.data.texts[index].count(' ')"),),
        note="the sampler is slow, not the workers' start",
    ),
    Case(
        "blas_threads_in_workers",
        ("cpu.oversubscribed",),
        report="R042",
        mend=(('"16"', '"1"'),),
    ),
    Case(
        "threads_for_digits",
        ("cpu.oversubscribed",),
        report="R045",
        mend=(("set_num_threads(16)", "set_num_threads(1)"),),
    ),
    Case(
        "pinned_to_one_core",
        ("cpu.affinity",),
        report="R049",
        mend=(("os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n", ""),),
    ),
    Case(
        "large_jpegs",
        ("input.item",),
        report="R059",
        mend=((".resize((1920, 1080))", ".resize((96, 64))"),),
    ),
    Case(
        "nested_lists",
        ("input.item",),
        report="R061",
        mend=(("48, 48).tolist()", "48, 48)"), ("torch.tensor(self.rows[index % len(self.rows)])", "self.rows[index % 64]")),
    ),
    Case(
        "collate_lists",
        ("input.collate",),
        report="R071",
        mend=(("1024).tolist()", "1024)"), ("torch.stack(columns, dim=1).float()", "columns")),
    ),
    Case(
        "volumes_from_disk",
        ("input.storage",),
        report="R077",
        mend=(("VOLUME_BYTES = 64 << 20", "VOLUME_BYTES = 256 << 10"),),
    ),
)
