"""Settings beside those of loaders, put in force in the training process; imported when one is asked for."""
