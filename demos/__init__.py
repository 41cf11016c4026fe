"""Plain training scripts that have never heard of perftui; `perftui demo` starts them.

A room of their own so that they are installed with the package and still read like anybody's scripts.
"""
