"""What every code means to a reader: one entry each, from which docs/diagnosis.md is made."""
