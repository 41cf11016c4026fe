"""Still more scripts for two cores, written after the rules by somebody who did not know them.

Their codes were set before any was run.
"""

from textwrap import indent

from tests.cases.case import HEALTHY, Case

_PART = """            loss = nn.functional.binary_cross_entropy_with_logits(model(features), clicked)
            accumulator.backward(loss)
"""

LATER_OTHERS = (
    Case(
        "motion_clips",
        ("input.epoch_start",),
        fresh=True,
        report="R024",
        mend=(("num_workers=2, worker_init_fn", "num_workers=2, persistent_workers=True, worker_init_fn"),),
    ),
    Case(
        "leaves_on_a_drive",
        ("input.storage",),
        report="R076",
        mend=(("            time.sleep(0.008)\n", ""), ("default=8)", "default=2)")),
    ),
    Case("tidy_trainer", ("pause.gc",), fresh=True, mend=(("            gc.collect()\n", ""),)),
    Case(
        "spectra_in_turn",
        ("data.same_order",),
        costs_time=False,
        mend=(
            (
                "return iter(self.order)",
                "return iter([self.order[i] for i in torch.randperm(len(self.order))])",
            ),
        ),
    ),
    Case(
        "jittered_boards",
        ("data.worker_seed",),
        fresh=True,
        report="R177",
        costs_time=False,
        mend=(("self.rng = np.random.RandomState(seed)", "self.rng = np.random"),),
    ),
    Case(
        "piped_shards",
        ("memory.host_growth",),
        seconds=30.0,
        fresh=True,
        report="R033",
        costs_time=False,
        mend=(("        Pipe.opened.append(self)\n", ""),),
    ),
    Case(
        "keys_of_the_past",
        ("drift.slower",),
        fresh=True,
        mend=(("torch.cat([keys, self.bank])", "torch.cat([keys, self.bank])[:1024]"),),
    ),
    Case(
        "kept_in_background",
        ("pause.checkpoint",),
        report="R246",
        mend=(("interval=3", "interval=2000"),),
    ),
    Case(
        "claims_scored",
        ("pause.logging",),
        fresh=True,
        mend=(("setLevel(logging.DEBUG)", "setLevel(logging.INFO)"),),
    ),
    Case(
        "joint_graphs",
        ("compute.operator",),
        fresh=True,
        mend=(("_, vectors = torch.linalg.eigh(laplacian.detach())", "vectors = laplacian.detach()"),),
    ),
    Case(
        "where_memory_goes",
        ("debug.profiler_left_on",),
        seconds=30.0,
        fresh=True,
        mend=(("tracemalloc.start(12)\n", ""), ("watch = Watch(every=40)\n", ""), ("    watch(step)\n", "")),
    ),
    Case(
        "eight_parts_of_a_batch",
        ("comm.no_sync",),
        ranks=2,
        fresh=True,
        mend=(
            ("        self.seen += 1\n        with self.context():\n            (loss", "        (loss"),
            (
                _PART,
                "            accumulator.seen += 1\n            with accumulator.context():\n"
                + indent(_PART, "    "),
            ),
        ),
        note="no_sync is entered around the backward only; DDP decides in the forward, so all are exchanged",
    ),
    Case(
        "spoken_digits",
        ("input.workers",),
        fresh=True,
        report="R192",
        mend=(
            ("shuffle=True, drop_last", "shuffle=True, num_workers=2, persistent_workers=True, drop_last"),
        ),
    ),
    Case(
        "shared_text_batches",
        ("input.item",),
        ranks=2,
        fresh=True,
        report="R021",
        mend=(
            (
                "        ids, kinds = [], []\n",
                "        rows, ids, kinds = rows[self.rank :: self.world], [], []\n",
            ),
            (
                "return ids[self.rank :: self.world], torch.tensor(kinds)[self.rank :: self.world]",
                "return ids, torch.tensor(kinds)",
            ),
        ),
        note="two ranks with a worker each on two cores: each rank tokenises all of every batch",
    ),
    Case(
        "anchors_on_crops",
        ("input.collate",),
        fresh=True,
        mend=(("[max(overlap(anchor, box) for box in boxes) for anchor in self.anchors]", "[0.0] * 432"),),
    ),
    Case(
        "columns_of_clicks",
        ("input.too_many_workers",),
        mend=(("type=int, default=12", "type=int, default=0"),),
    ),
    Case(
        "streamed_tracks",
        ("input.inline",),
        fresh=True,
        report="R065",
        mend=(
            ("row.tolist()", "torch.from_numpy(row)"),
            ('torch.tensor([row["track"] for row in rows])', 'torch.stack([row["track"] for row in rows])'),
        ),
    ),
    Case("films_and_tastes", HEALTHY, fresh=True),
    Case("balances_many_poles", HEALTHY, fresh=True),
    Case(
        "grows_a_picture",
        HEALTHY,
        seconds=120.0,
        fresh=True,
        note="recomputes in the backward because 4 GB would not hold 64 updates beside the pool",
    ),
    Case("molecules_by_size", HEALTHY, fresh=True),
    Case("codes_and_their_prior", HEALTHY, fresh=True),
    Case("taught_by_hints", HEALTHY, seconds=30.0),
    Case("packed_songs", HEALTHY, fresh=True),
)
