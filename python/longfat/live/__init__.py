"""Conclusions about a path from measurements between two hosts."""
