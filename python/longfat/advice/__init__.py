"""Advice: which control, window, streams and pacing for a path, from runs of it.

One file a concept: the question (`question`), what could be set (`candidates`), what is not known (`cases`), the experiment (`plan`), what
came out (`cells`), what follows (`verdict`), and how Linux is told (`linux`).
"""

from longfat.advice.advise import Advice, advise

__all__ = ["Advice", "advise"]
