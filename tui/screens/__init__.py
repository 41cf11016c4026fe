"""Screens: which widgets stand where, and which keys do what."""
