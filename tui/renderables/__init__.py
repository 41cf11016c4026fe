"""Pictures: pure functions from frozen data, a width and a height to lines of text with roles.

No widget, no clock, no colour: a picture can be tested as plain text.
"""
