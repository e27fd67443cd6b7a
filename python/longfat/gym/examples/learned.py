"""The policy of `evolve.py` as a congestion control: `learned` in experiments.

`longfat evaluate control python/longfat/gym/examples/learned.py --quick` judges it.
"""

from __future__ import annotations

from pathlib import Path

from longfat.gym import control

Learned = control("learned", Path(__file__).with_name("learned.json"))
