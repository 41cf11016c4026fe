"""Shells round the pictures: each keeps the state it was shown and repaints only what changed."""
