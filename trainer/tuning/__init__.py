"""Prove a change: predict, launch with and without it, judge, keep the winner, remember everything.

`relaunch.py` is the way through; `verdict.py` and what it stands on are pure and can be read alone.
"""
