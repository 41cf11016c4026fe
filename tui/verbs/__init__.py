"""What each verb of the command line does: parsed arguments in, exit code out.

With `cli.py` the only part of this room that may import the trainer's. Everything heavy is imported inside
the function that uses it, so that `--help` and `run` start fast.
"""
