"""What procedure P says of real launches whose truth is known: the parts of `benchmarks/verdict_aa.py`."""
