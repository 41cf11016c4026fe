"""Senses beside the training: GPU and host figures, read by the hub, never by a rank."""
