"""What each tool costs the training, side by side: perftui, TraceML, gpuprof and train-doctor.

The loop takes its own times; no tool's figures are used. Fresh processes in rotated order, paired by round.

    python -m benchmarks.rivals --rounds 10 --cells cpu --json RESULT.json
    python -m benchmarks.rivals --table RESULT.json

`arms.py` says how each tool is run, `cells.py` which loops.
"""
