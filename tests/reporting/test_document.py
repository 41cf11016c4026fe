"""Reports as Markdown and as a page: every part is there, and nothing that a run says is more than text."""

import re
from html.parser import HTMLParser

import pytest

from perftui.ipc.findings import Finding
from perftui.ipc.host_links import HostLink
from perftui.ipc.summary import Overhead
from perftui.ipc.view import HostView, Shares, StepStats
from perftui.trainer.reporting.blocks import Code, Heading, Items, Paragraph, Table, percent_or_never
from perftui.trainer.reporting.document import document_of
from perftui.trainer.reporting.gather import concerning
from perftui.trainer.reporting.markdown import markdown_of
from perftui.trainer.reporting.page import page_of
from perftui.trainer.reporting.redaction import redacted, secrets_of
from perftui.trainer.reporting.surroundings import cost_words, own_cost
from tests.reporting.made_report import HOSTILE, KEY, comparison, rank, report, summary

PARTS = [
    "What ran",
    "Steps",
    "Findings",
    "What could not be judged",
    "Verdicts",
    "Profiling windows",
    "Settings in force",
    "Host and GPUs",
    "What perftui cost",
]
ALLOWED_TAGS = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "pre", "ul", "li", "table", "tr",
    "th", "td", "div", "span",
}  # fmt: skip


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.cells: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


def test_markdown_has_every_part_in_order() -> None:
    text = markdown_of(document_of(report()))
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == PARTS


@pytest.mark.parametrize(
    "line",
    [
        r"| 0 | 120 | 100 | 200.50 | 190.00 | 250.00 | 300.00 | 40.0 | — | 1.25 |",
        r"| rank 0 | 75 % | — | 10 % | 14 % | — | 0.5 % | 0.5 % |",
        "| Versions | perftui 0.1.0, Python 3.12.1, torch 2.14.1 |",
        "| Commit | " + "f" * 40 + " |",
        "| Host | vm, 2 usable cores, 2.0 GiB of memory |",
        r"| Devices | rank 0: cuda:0 (H200, GPU-1); rank 1: cuda:0 (H200, GPU-1) |",
        "| Started | 2023-11-14 22:13 UTC |",
        "| State | finished after 1:02:05 with exit code 0 |",
        "| loader wait | 75 % | 100 |",
        r"- Try --set loader.num\_workers=4 (neutral, expected 2.5×, at most 4.0×)",
        "- Against it: epochs are short",
        "Not certain; what would settle it: a profile window",
        "| comm.fabric | — | no window | perftui profile |",
        r"| 2023-11-14 22:21 UTC | loader.num\_workers 0 → 4 | faster | +84.0 % | +71.0 to +98.0 % (98%) "
        "| 2 | 0123456789ab with changes |",
        "79 % went into the loader",
        "- rank 1 took no part",
        "- rank 0: the profiler doubled the step",
        "| op7 | 2 | 1.50 | — | 50 % |",
        r"| loader.num\_workers | 0 | 0 on rank 0, 1 on rank 1 |",
        r"| loader.prefetch\_factor | — | none |",
        "| Cores busy with this run, mean | 1.5 |",
        "31 µs a step in hooks (0.02 % of the step).",
        "- rank 0: 3 steps dropped, 0 frames lost, 0 errors of the probe",
    ],
)  # fmt: skip
def test_figures_stand_where_they_belong(line: str) -> None:
    assert line in markdown_of(document_of(report())).splitlines()


def test_a_cost_within_its_noise_is_told_as_too_little_to_measure() -> None:
    measured = Overhead(shadow_steps=64, shadow_cpu_us=31.0, shadow_cpu_se_us=9.0)
    assert cost_words(measured).startswith("31 ± 9 µs of the training thread's CPU time a step, against 64")
    noise = Overhead(shadow_steps=64, shadow_cpu_us=-1018.0, shadow_cpu_se_us=1534.0)
    assert cost_words(noise).startswith("too little to measure here, within ±1534 µs, of the training thread")


def lost_of(**changes: object) -> list[str]:
    """Return what a report of this run says to be lost."""
    values: dict[str, object] = {"ranks": [rank(0, dropped=0)], **changes}
    told = own_cost(summary(**values))
    return [text for block in told if isinstance(block, Items) for text in block.texts]


def test_whatever_was_lost_is_said() -> None:
    assert lost_of() == []
    assert "Nothing was lost." in markdown_of(
        document_of(report(summary=summary(ranks=[rank(0, dropped=0)])))
    )
    (frames,) = lost_of(ranks=[rank(0, dropped=0), rank(1, dropped=0, lost_frames=12)])
    assert frames == "rank 1: 0 steps dropped, 12 frames lost, 0 errors of the probe"
    links = [HostLink(host=host, state="left", age_s=0.0, dropped=n) for host, n in (("a", 0), ("b", 7))]
    assert lost_of(links=links) == ["host b: its hub dropped 7 entries while the lead was away or slow"]
    assert lost_of(recording_failed_entries=4) == ["4 entries of the recording refused by the disk"]


def test_only_top_rows_of_a_window_are_shown() -> None:
    assert "op8" not in markdown_of(document_of(report()))


def test_page_says_what_the_markdown_says() -> None:
    reader = read(page_of(document_of(report())))
    for part in [*PARTS, "79 % went into the loader", "rank 0: the profiler doubled the step", "1:02:05"]:
        assert part in reader.text


def test_nothing_from_the_run_becomes_markup_in_the_page() -> None:
    page = page_of(document_of(report()))
    reader = read(page)
    assert reader.tags <= ALLOWED_TAGS
    assert reader.attributes <= {
        "lang",
        "charset",
        "http-equiv",
        "content",
        "name",
        "class",
        "style",
        "title",
    }
    assert "<script>alert(1)</script>" in reader.text
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src &#x27;none&#x27;" in page
    assert not set(page) & {"\x1b", "\u202e"}


def test_nothing_from_the_run_becomes_markup_in_markdown() -> None:
    text = markdown_of(document_of(report()))
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert r"\<script\>alert(1)\</script\> \| a \*\*bold\*\* \[link\]" in outside
    assert not re.search(r"(?<!\\)[<\[`]", outside.replace("[masked]", ""))
    assert not set(text) & {"\x1b", "\u202e"}
    rows = [line for line in text.splitlines() if line.startswith("|")]
    widths = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
    assert min(widths) >= 3


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("- not a list", r"\- not a list"),
        ("1. not a list", r"1\. not a list"),
        ("2026-11-30", "2026-11-30"),
        ("0.2 %", "0.2 %"),
        ("-152 µs", "-152 µs"),
        ("=== underline", r"\=== underline"),
        ("# no heading\nno line", r"\# no heading no line"),
        ("a & b &lt;", r"a \& b \&lt;"),
        ("C:\\new", r"C:\\new"),
    ],
)
def test_text_stays_text_in_markdown(text: str, written: str) -> None:
    assert markdown_of([Paragraph(text)]) == written + "\n"


def test_code_cannot_leave_its_fence() -> None:
    assert markdown_of([Code("a\n```\nb")]) == "````text\na\n```\nb\n````\n"
    assert page_of([Heading(1, "t"), Code("</pre><b>")]).count("<pre>&lt;/pre&gt;&lt;b&gt;</pre>") == 1


def test_tables_and_lists() -> None:
    table = Table(("a", "b"), (("x|y", "1"),), frozenset({1}))
    assert markdown_of([table, Items(("one", "two"))]) == (
        "| a | b |\n| --- | --: |\n| x\\|y | 1 |\n\n- one\n- two\n"
    )
    assert '<tr><td>x|y</td><td class="figure">1</td></tr>' in page_of([table])


@pytest.mark.parametrize(("share", "shown"), [(None, "—"), (0.0, "0 %"), (0.004, "0.4 %"), (0.75, "75 %")])
def test_shares_in_words(share: float | None, shown: str) -> None:
    assert percent_or_never(share) == shown


def test_a_step_of_microseconds_is_no_zero() -> None:
    short = StepStats(mean=0.04, p50=0.004, p90=0.0421, p99=0.05)
    text = markdown_of(
        document_of(report(summary=summary(ranks=[rank(0, step_ms=short, samples_per_s=0.0421)])))
    )
    assert "| 0.0400 | 0.00400 | 0.0421 | 0.0500 | 0.0421 |" in text


def test_a_run_of_which_nothing_was_measured_says_so() -> None:
    bare = summary(
        ranks=[], gpus=[], findings=[], unjudged=[], profiles=[], settings={}, overhead=Overhead(),
        host_mean=None, host=HostView(name="vm", age_s=0.0, gpu_note="no driver"), message=None,
        started_unix=None, perftui=None,
    )  # fmt: skip
    text = markdown_of(document_of(report(summary=bare, ledger=[], windows={}, commit=None)))
    for sentence in (
        "No step was measured.",
        "None: nothing was measured.",
        "Not measured: too few steps.",
        "The host was not read while the run trained.",
        "No GPU figures: no driver",
        "| Versions | — |",
        "| Started | — |",
        "The ledger has no comparison that concerns this run.",
    ):
        assert sentence in text
    assert "0.00" not in text


def test_a_healthy_run_is_told_from_one_without_steps() -> None:
    healthy = summary(findings=[], ranks=[rank(0, shares=Shares(), settings_failed={})])
    assert "no rule found a cause worth changing" in markdown_of(document_of(report(summary=healthy)))


def test_consequences_name_their_cause() -> None:
    under = Finding(
        code="rank.imbalance", severity="info", share=0.1, sentence="s", rank=1, under="input.workers"
    )
    text = markdown_of(document_of(report(summary=summary(findings=[under]))))
    assert "Rank 1: s" in text
    assert "It follows from input.workers: deal with that first." in text


def test_keys_on_the_command_line_are_taken_out_everywhere() -> None:
    cleaned = redacted(report())
    assert cleaned.summary.command == ["python", "train.py", "--name", HOSTILE, "--api-key", "[masked]"]
    assert cleaned.ledger[0].command[-1] == "--api-key=[masked]"
    assert cleaned.summary.message == "it failed: token [masked] was refused"
    assert cleaned.masked == 1
    assert "look the rest over before you send it" in markdown_of(document_of(cleaned))
    assert KEY in repr(report())
    assert KEY not in repr(cleaned)


def test_a_report_without_secrets_stays_as_it_is() -> None:
    plain = report(summary=summary(command=["python", "t.py", "--bos-token", "1"], message=None), ledger=[])
    assert redacted(plain) == plain


@pytest.mark.parametrize(
    ("command", "secrets"),
    [
        (["env", "WANDB_API_KEY=abc", "python"], ["abc"]),
        (["t.py", "--hub_token", "hello"], ["hello"]),
        (["t.py", "--hub-token=hello"], ["hello"]),
        (["bash", "-c", "DB_PASSWORD=pw python t.py"], ["pw"]),
        (["t.py", "--tokenizer", "bert", "--max-token", "512", "--auth", "--lr", "1"], []),
        (["t.py", "--token", "none", "monkey=1", "--key-dim", "64"], []),
    ],
)
def test_secrets_are_known_by_the_name_of_their_option(command: list[str], secrets: list[str]) -> None:
    assert list(secrets_of(command)) == secrets


@pytest.mark.parametrize(
    "text",
    [
        "hf_" + "a" * 20,
        "ghp_" + "B" * 36,
        "sk-" + "c" * 30,
        "AKIA" + "D" * 16,
        "postgres://me:longpassword@db/x",
    ],
)
def test_tokens_of_known_forms_are_taken_out_of_messages(text: str) -> None:
    cleaned = redacted(report(summary=summary(message=f"failed: {text}")))
    assert cleaned.summary.message is not None
    assert "[masked]" in cleaned.summary.message
    assert text not in cleaned.summary.message


def test_short_values_are_masked_in_the_command_alone() -> None:
    cleaned = redacted(report(summary=summary(command=["t.py", "--token", "loader"]), ledger=[]))
    assert cleaned.summary.command == ["t.py", "--token", "[masked]"]
    assert cleaned.summary.profiles[0].sentence == "79 % went into the loader"


def test_the_ledger_lines_of_a_run_are_those_of_its_line() -> None:
    lines = [
        comparison("led-to", 5.0, "train-2", "train-3", "t5"),
        comparison("other", 4.0, "elsewhere", "elsewhere-2", "t4"),
        comparison("came-from", 3.0, "train-1", "train-2", "t3"),
        comparison("ancestor", 2.0, "train-0", "train-1", "t2"),
        comparison("sibling", 1.0, "train-0", None, "t1"),
    ]
    assert [line.comparison_id for line in concerning("train-2", lines)] == [
        "ancestor",
        "came-from",
        "led-to",
    ]
    assert [line.comparison_id for line in concerning("t4", lines)] == ["other"]
    assert concerning("unknown", lines) == []
