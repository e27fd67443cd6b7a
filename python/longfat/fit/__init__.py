"""The path behind measured numbers: which unknown values of an experiment explain them, how sure that is, and what to measure next."""

from longfat.fit.data import Data, Measurement
from longfat.fit.judge import Interval
from longfat.fit.path import Fit, fit_path

__all__ = ["Data", "Fit", "Interval", "Measurement", "fit_path"]
