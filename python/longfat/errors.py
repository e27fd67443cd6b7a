"""Errors a user can cause and fix. Their text is the whole message: what, where, what would be right."""


class LongfatError(Exception):
    """Base of every error that longfat raises for its user's sake."""
