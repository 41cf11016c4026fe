"""Scripts whose input is at fault: loaders, workers, storage, the cores they share."""

from tests.cases.case import Case

INPUT = (
    Case(
        "images_no_workers",
        ("input.workers",),
        report="R002",
        mend=(("resize((640, 480))", "resize((80, 60))"),),
    ),
    Case(
        "one_worker",
        ("input.workers",),
        report="R004",
        mend=(("(400, 512, 1024, 2048)", "(400,)"),),
    ),
    Case(
        "graphs_in_main",
        ("input.workers",),
        report="R009",
        mend=(
            (
                "torch.linalg.eigh(torch.from_numpy(np.diag(adjacency.sum(1)) - adjacency))",
                "torch.from_numpy(adjacency[0]), torch.from_numpy(adjacency)",
            ),
        ),
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
        mend=(("num_workers=8", "num_workers=1"),),
        note="sixteen busy workers on two cores: too many workers and too many for the cores are one thing",
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
        mend=(
            ("48, 48).tolist()", "48, 48)"),
            ("torch.tensor(self.rows[index % len(self.rows)])", "self.rows[index % 64]"),
        ),
    ),
    Case(
        "collate_lists",
        ("input.collate",),
        report="R071",
        mend=(("512).tolist()", "512)"), ("torch.stack(columns, dim=1).float()", "columns")),
    ),
    Case(
        "volumes_from_disk",
        ("input.storage",),
        report="R077",
        mend=(("VOLUME_BYTES = 64 << 20", "VOLUME_BYTES = 256 << 10"),),
    ),
    Case(
        "wrong_loader_edited",
        ("input.workers",),
        report="R017",
        mend=(("range(1, 20)", "range(1, 2)"),),
    ),
    Case(
        "deep_prefetch",
        ("input.item",),
        report="R005",
        mend=(("range(64)", "range(4)"), ("(64, 96, 96)", "(4, 96, 96)")),
    ),
    Case(
        "collate_in_python",
        ("input.collate",),
        mend=(
            (
                "padded.append([row[place] if place < len(row) else 0 for place in range(longest)])\n",
                "padded.append(row + [0] * (longest - len(row)))\n",
            ),
            (
                "mask.append([[float(a < len(row) and b <= a) for b in range(16)] for a in range(longest)])",
                "",
            ),
            ("torch.tensor(mask)", "torch.ones(len(rows), longest, 16)"),
        ),
    ),
    Case("rows_from_disk", ("input.storage",), report="R084", mend=(("1 << 16, 400", "1 << 16, 4"),)),
    Case("one_heavy_shard", ("input.one_slow_worker",), mend=(("3: 1536", "3: 64"),)),
    Case("one_distant_shard", ("input.one_slow_worker",), mend=(("1: 0.02", "1: 0.0"),)),
    Case(
        "tokenises_in_the_loop",
        ("input.inline",),
        mend=(
            ("[tokenise(text) for text in draw.sample(texts, 64)]", "draw.sample(ready, 64)"),
            ("step = 0\n", "step = 0\nready = [tokenise(text) for text in texts]\n"),
        ),
    ),
    Case(
        "augments_in_the_loop",
        ("input.inline",),
        mend=(("torch.stack([augment(picture) for picture in pictures])", "pictures.float() / 255"),),
    ),
    Case("averages_in_python", ("cpu.python",), mend=(("        update_average()\n", ""),)),
    Case(
        "scores_in_python",
        ("cpu.python",),
        mend=(
            ("        errors += sum(map(edit_distance, scores.argmax(-1).tolist(), letters.tolist()))\n", ""),
        ),
    ),
)
