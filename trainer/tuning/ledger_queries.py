"""What is asked of the ledger, by whoever writes to it and by whoever only reads."""

NEWEST = "SELECT record FROM comparisons WHERE ? IS NULL OR host = ? ORDER BY unix DESC, rowid DESC LIMIT ?"
"""Of a host, said twice, or None for all; at most so many, or -1 for all."""
PLANS = "SELECT record FROM searches WHERE host = ? ORDER BY unix DESC, rowid DESC"
ENTRIES = "SELECT record FROM search_entries WHERE search_id = ? ORDER BY place"
