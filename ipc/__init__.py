"""What crosses a process border: messages, codec, places, sockets, recording, settings, findings.

This room knows nothing of torch, of Textual, or of the other two rooms.
"""
