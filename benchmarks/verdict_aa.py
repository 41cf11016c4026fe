"""What the verdict says of real launches whose truth is known: identical ones, or A with more work than B.

    python -m benchmarks.verdict_aa RESULT.json --minutes 9 --lanes 16
    python -m benchmarks.verdict_aa RESULT.json --minutes 9 --lanes 16 --inject 1.10 --idle

Chains of launches of a small training by the trial code that a relaunch uses. Every other chain runs beside a
neighbour that keeps a core of its two busy, steadily or in bursts (`--idle`, `--busy`: none, all). A further
call with the same file goes on where the last one ended.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

from benchmarks.verdicts.chains import Order, run_chains
from benchmarks.verdicts.pairs import summary_of
from benchmarks.verdicts.records import (
    Campaign,
    ChainLaunch,
    command_line,
    read_campaign,
    versions,
    write_campaign,
)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("result", type=Path, metavar="RESULT.json")
    parser.add_argument("--minutes", type=float, default=9.0, help="of wall time; 0: only sum up")
    parser.add_argument("--lanes", type=int, default=1, metavar="N", help="chains beside each other")
    parser.add_argument("--lane-cores", type=int, default=2, metavar="N", help="cores of each, its own")
    parser.add_argument("--inject", type=float, default=1.0, metavar="F", help="A does F times the work of B")
    parser.add_argument("--launches", type=int, default=8, metavar="N", help="of a chain")
    parser.add_argument("--threads", type=int, default=1, help="of the training")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--busy", action="store_true", help="a neighbour beside all chains")
    which.add_argument("--idle", action="store_true", help="a neighbour beside none")
    return parser.parse_args()


def _campaign(asked: argparse.Namespace) -> Campaign:
    kind = {"injected": asked.inject, "threads": asked.threads, "lane_cores": asked.lane_cores}
    campaign = read_campaign(asked.result) or Campaign(**kind)
    there = {name: getattr(campaign, name) for name in kind}
    if asked.minutes and there != kind:
        raise SystemExit(f"{asked.result} holds launches of {there}, asked for is {kind}: take another file")
    return campaign


def _line(each: ChainLaunch) -> str:
    launch = each.launch
    what = f"{each.chain} {each.place:2} {launch.label} {each.neighbour:6}"
    if launch.log_step_s is None or launch.se is None or launch.step_ms is None:
        return f"{what} {launch.outcome}: {launch.note}"
    unsettled = "" if launch.settled else ", unsettled"
    return f"{what} {launch.step_ms:8.2f} ms ± {launch.se:.2%}, {launch.steps} steps{unsettled}"


def main() -> None:
    """Run, keep, and print the summary."""
    asked = _asked()
    campaign = _campaign(asked)
    if asked.minutes:
        began = time.monotonic()
        campaign.calls.append(
            {
                "date": time.strftime("%Y-%m-%d %H:%M"),
                "command": command_line("benchmarks.verdict_aa", sys.argv[1:]),
            }
        )
        campaign.versions = versions()
        campaign.host = {"cpus": len(os.sched_getaffinity(0)), "lanes": asked.lanes}
        busy = True if asked.busy else False if asked.idle else None
        order = Order(
            minutes=asked.minutes,
            lanes=asked.lanes,
            lane_cores=asked.lane_cores,
            injected=asked.inject,
            threads=asked.threads,
            launches=asked.launches,
            busy=busy,
        )
        for each in run_chains(order):
            campaign.launches.append(each)
            print(f"{time.monotonic() - began:5.0f} s {_line(each)}", flush=True)
            write_campaign(asked.result, campaign)
    campaign.summary = summary_of(campaign)
    write_campaign(asked.result, campaign)
    print(json.dumps(campaign.summary, indent=1))


if __name__ == "__main__":
    main()
