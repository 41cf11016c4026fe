"""A report of one run, to be sent to somebody who was not there."""
