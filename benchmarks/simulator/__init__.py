"""Made-up trainings of any number of ranks: the real protocol, over the real sockets, to a real hub."""
