"""The rules by family: each a function from a case to findings and abstentions."""
