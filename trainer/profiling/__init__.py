"""Profiling windows on a live rank, and what their traces say.

`window` and what it uses run inside the training; everything that reads traces runs in a worker process of
the hub and knows nothing of torch.
"""
