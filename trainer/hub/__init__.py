"""One hub per host and job: folds what the ranks send, judges, records, and serves any number of dashboards.

Everything that costs runs here or in a child of it, never in the training.
"""
