"""The search from findings to a proven gain: what to measure next, and when to stop.

What is decided is pure (`next_move`, from a state that the ledger's entries fold into); `carry_out` does it.
"""
