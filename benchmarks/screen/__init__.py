"""What the dashboard costs and how fast it answers, in a pseudo-terminal, against simulated trainings."""
