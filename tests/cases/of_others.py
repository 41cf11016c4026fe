"""Scripts written after the rules, without regard to them; their codes were set before any of them was run.

Where a rule is changed because of one, that one says nothing of the rate any more: take `fresh` from it.
"""

from dataclasses import replace

from tests.cases.case import HEALTHY, Case

_OF_THE_INPUT = (
    Case(
        "rows_parsed_one_by_one",
        ("input.item",),
        report="R064",
        mend=(
            ("json.dumps(cells)", "torch.tensor(cells)"),
            ("json.dumps(row % 8)", "torch.tensor(row % 8)"),
            ("torch.tensor(json.loads(cells[row]))", "cells[row]"),
        ),
    ),
    Case(
        "thread_before_the_loader",
        ("input.workers",),
        report="R069",
        mend=(
            ("    def line(self", "    @__import__('functools').cache\n    def line(self"),
            ("self.line(index)", "self.line(index % 64)"),
        ),
        note="a thread of the same process fetches ahead; the loader itself has no worker",
    ),
    Case(
        "low_resolution_phase",
        ("input.too_many_workers",),
        report="R013",
        mend=((", num_workers=6, persistent_workers=True", ""),),
    ),
    Case(
        "loader_built_anew",
        ("input.epoch_start",),
        seconds=30,
        report="R031",
        mend=(
            (
                "    for epoch in itertools.count():\n        loader = loader_for(48)\n",
                "    loader = loader_for(48)\n    for epoch in itertools.count():\n",
            ),
            ("num_workers=2", "num_workers=2, persistent_workers=True"),
        ),
    ),
    Case(
        "frames_put_together",
        ("input.collate",),
        report="R068",
        mend=(("torch.rand(64, 3, 360, 640)", "torch.randint(256, (64, 3, 360, 640), dtype=torch.uint8)"),),
        note="a sample is a view of what is in memory: to copy them into one batch is all there is",
    ),
    Case(
        "graphs_joined_in_lists",
        ("input.collate",),
        mend=(
            (
                "        for source, target in pairs:\n"
                "            edges.append((first + source, first + target))\n"
                "            edges.append((first + target, first + source))\n"
                "        owners.extend(number for _ in nodes)\n"
                "    edges = sorted(set(edges))\n",
                "        edges.extend((first + pairs, first + pairs.flip(1)))\n"
                "        owners.extend(number for _ in range(NODES))\n",
            ),
            (
                "[(draw.randrange(NODES), draw.randrange(NODES)) for _ in range(EDGES)]",
                "torch.randint(NODES, (EDGES, 2))",
            ),
            ("torch.tensor(edges).T", "torch.cat(edges).T"),
        ),
    ),
    Case(
        "photos_from_a_store",
        ("input.storage",),
        report="R020",
        mend=(("A_REQUEST_S = 0.004", "A_REQUEST_S = 0.0"),),
        note="the store answers one request at a time: more workers wait longer each",
    ),
    Case(
        "first_pass_from_the_archive",
        ("input.cold_start",),
        seconds=60,
        report="R072",
        mend=(("ANSWER_S = 0.02", "ANSWER_S = 0.0"),),
        note="the first pass takes half a minute, each later one about two seconds",
    ),
    Case(
        "pool_of_processes",
        ("input.inline",),
        report="R070",
        mend=(
            ("self.pool.map(typeset, self", "list(map(typeset, self"),
            ("start + self.batch])", "start + self.batch]))"),
            ("def typeset(number):", "@__import__('functools').cache\ndef _page(number):"),
            (
                "    return pixels, number % 20\n",
                "    return pixels\n\n\n" + "def typeset(number):\n"
                "    return _page(number % 64), number % 20\n",
            ),
        ),
        note="no DataLoader: the training thread asks for a batch when it is due, and waits",
    ),
    Case(
        "frames_from_a_deque",
        ("input.inline",),
        mend=(
            ("file.getvalue()", "frame"),
            ("np.asarray(Image.open(io.BytesIO(frame)))", "frame"),
        ),
    ),
)
_OF_THE_HOST = (
    Case(
        "threads_of_the_host",
        ("cpu.oversubscribed",),
        ranks=2,
        report="R052",
        mend=(("HOST_CORES = 8", "HOST_CORES = 1"),),
    ),
    Case(
        "workers_on_one_core",
        ("cpu.affinity",),
        report="R056",
        mend=(("    os.sched_setaffinity(0, {cores[-1]})\n", "    assert cores\n"),),
        note="shows where another core is idle",
    ),
    Case(
        "callbacks_by_the_dozen",
        ("cpu.python",),
        report="R241",
        mend=(("[Callback() for _ in range(24)]", "[Callback()]"),),
    ),
    Case(
        "counts_lines",
        ("debug.profiler_left_on",),
        report="R120",
        mend=(("sys.settrace(follow)\n", ""),),
    ),
    Case(
        "ranks_collect_in_turns",
        ("pause.gc",),
        ranks=2,
        report="R167",
        mend=(("            gc.collect()\n", "            gc.get_count()\n"),),
    ),
    Case(
        "keeps_two_checkpoints",
        ("pause.checkpoint",),
        mend=(("save_steps=20,", "save_steps=20_000,"),),
    ),
    Case(
        "translates_to_validate",
        ("pause.validation",),
        mend=(("step % 20 == 0", "step % 20_000 == 0"),),
    ),
    Case(
        "saves_picture_grids",
        ("pause.logging",),
        mend=(("            write_grid(step, noisy, (noisy - level * guess).detach())\n", ""),),
    ),
    Case(
        "captions_as_objects",
        ("memory.host_growth",),
        costs_time=False,
        seconds=40,
        report="R089",
        mend=(
            (
                '{"number": 1000 + number, "text": [f"{draw.choice(WORDS)}/{number}" for _ in range(6)]}\n'
                "            for number in range(count)\n        ]\n",
                "draw.choices(range(512), k=6) for _ in range(2000)\n        ]\n"
                "        self.captions = torch.tensor(self.captions).repeat(count // 2000, 1)\n",
            ),
            (
                '[len(word) * 31 + ord(word[4]) for each in (caption, other) for word in each["text"]]',
                "torch.cat([caption, other])",
            ),
            ("torch.tensor(tokens)", "tokens"),
            ('caption["number"]', "index"),
        ),
        note="a worker writes the count of references into each page it looks at, and gets a copy of it",
    ),
    Case(
        "hooks_added_each_step",
        ("drift.slower",),
        seconds=40,
        mend=(
            ("            watch.attach(model)\n", ""),
            ("    watch = Watch()\n", "    watch = Watch()\n    watch.attach(model)\n"),
        ),
    ),
    Case(
        "seeds_every_epoch",
        ("data.same_order",),
        costs_time=False,
        mend=(("torch.manual_seed(SEED)", "torch.manual_seed(SEED + epoch)"),),
        note="the order is the seed's, by what shuffle=True does",
    ),
)
_OF_THE_RANKS = (
    Case(
        "same_stream_on_both_ranks",
        ("data.same_on_ranks",),
        costs_time=False,
        ranks=2,
        mend=(
            (
                "part, parts = worker.id, worker.num_workers",
                "part = dist.get_rank() * worker.num_workers + worker.id\n"
                "        parts = dist.get_world_size() * worker.num_workers",
            ),
        ),
        note="by construction: both ranks draw one order and take all of it",
    ),
    Case(
        "one_rank_deals",
        ("rank.straggler_input", "input.workers"),
        ranks=2,
        report="R022",
        mend=(("DISPATCH = True", "DISPATCH = False"), ("resize((480, 360)", "resize((60, 45)")),
        note="one rank reads for both without a worker: the rank the other waits for, and too few processes; "
        "mended, each reads its own, and small ones",
    ),
    Case(
        "averages_tensor_by_tensor",
        ("comm.buckets",),
        ranks=2,
        mend=(
            (
                "    weights = list(model.parameters())\n",
                "    weights = list(model.parameters())\n"
                "    model = torch.nn.parallel.DistributedDataParallel(model)\n",
            ),
            ("        average(weights)\n", ""),
        ),
        note="by hand, and as small as pieces can be",
    ),
    Case(
        "first_rank_scores",
        ("rank.straggler_host",),
        ranks=2,
        mend=(("                latest = precision.value()\n", ""),),
    ),
)
_OF_THE_MODEL = (
    Case(
        "forty_of_one",
        ("compute.small_batch",),
        report="R200",
        mend=(("block_size = 1, 40, 48", "block_size = 40, 1, 48"),),
    ),
    Case(
        "orthogonal_updates",
        ("compute.optimizer",),
        mend=(("self.orthogonal(buffer) if weight.ndim == 2 else buffer", "buffer"),),
    ),
    Case(
        "sorts_all_neighbours",
        ("compute.operator",),
        mend=(
            (
                "distances.argsort(-1)[:, :, 1 : NEIGHBOURS + 1]",
                "distances.topk(NEIGHBOURS + 1, largest=False).indices[:, :, 1:]",
            ),
        ),
    ),
    Case(
        "grows_by_token_budget",
        ("compile.recompiles",),
        seconds=60,
        report="R208",
        mend=(("dynamic=False", "dynamic=True"),),
    ),
)
_HEALTHY = tuple(
    Case(script, HEALTHY, ranks=ranks, note="healthy: no critical finding, and no lead but this")
    for script, ranks in (
        ("healthy_characters", 1),
        ("healthy_diffusion", 1),
        ("healthy_two_loaders", 1),
        ("healthy_trainer_class", 1),
        ("healthy_ddp_validates", 2),
        ("healthy_memmap", 1),
        ("healthy_graphs", 1),
        ("healthy_distillation", 1),
    )
)
_RULES_SINCE = frozenset({"thread_before_the_loader", "photos_from_a_store", "captions_as_objects"})
"""Scripts for which rules have been changed."""
OTHERS = tuple(
    replace(case, fresh=case.script not in _RULES_SINCE)
    for case in (*_OF_THE_INPUT, *_OF_THE_HOST, *_OF_THE_RANKS, *_OF_THE_MODEL, *_HEALTHY)
)
