"""A person's own configuration: where it is, what may stand in it, and what is wrong with it."""
