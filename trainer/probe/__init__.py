"""In the rank: hooks in the user's process, one background thread, nothing that can stop the training.

It never blocks, never raises into the user's code, never synchronises a device and never listens. Only the
modules that a start of Python needs are imported before the first training event.
"""
