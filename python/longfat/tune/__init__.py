"""Tuning: what a Linux host should change for a path, by how much that helps, and the scripts that do and undo it.

One file a concept: the path and route (`target`), how a host is read (`host`), what is looked at (`check`, `checks`), what can be set
(`setting`), the gain of each change (`simulate`), the scripts (`script`), before and after on the real path (`compare`), and the text
(`show`).
"""
