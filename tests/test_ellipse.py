"""Ellipses of two metrics, as RFC 7928 section 2.7 draws delay and goodput."""

from __future__ import annotations

import math

import longfat
import numpy as np
import pytest
from conftest import SWEEP
from longfat.results.ellipse import ellipse


def test_it_is_the_likeliest_normal_distribution() -> None:
    # By hand: x = 1, 2, 3, 6 (mean 3, median 2.5, deviation sqrt(14 / 4)), y = 2x + (1, -1, 1, -1).
    x, y = [1.0, 2.0, 3.0, 6.0], [3.0, 3.0, 7.0, 11.0]
    found = ellipse(list(zip(x, y, strict=True)))
    assert (found.repeats, found.x_median, found.y_median) == (4, 2.5, 5.0)
    assert (found.x_mean, found.y_mean) == (3.0, 6.0)
    assert found.x_deviation == pytest.approx(math.sqrt(14 / 4))
    assert found.correlation == pytest.approx(np.corrcoef(x, y)[0, 1])
    across, along = (np.array(values) for values in found.contour())
    # One standard deviation: each corner is at Mahalanobis distance 1.
    inverse = np.linalg.inv(np.cov(x, y, ddof=0))
    away = np.stack([across - found.x_mean, along - found.y_mean])
    assert np.einsum("ip,ij,jp->p", away, inverse, away) == pytest.approx(np.ones(len(across)))
    assert (across[0], along[0]) == pytest.approx((across[-1], along[-1]))


def test_what_does_not_vary_has_a_line_or_a_point() -> None:
    flat = ellipse([(1.0, 5.0), (3.0, 5.0), (2.0, math.nan)])
    assert flat.repeats == 2
    assert math.isnan(flat.correlation)
    assert set(flat.contour()[1]) == {5.0}
    assert ellipse([(1.0, 2.0)]).contour()[0] == [1.0] * 49
    assert ellipse([]).repeats == 0


def test_results_have_one_per_path() -> None:
    results = longfat.Experiment(SWEEP).sweep()
    table = results.ellipse(y="goodput_total_bps")
    assert len(table) == results.runs.groupby(results.axes).ngroups
    assert table["y_mean"].tolist() == pytest.approx(results.means()["goodput_total_bps"].tolist())
    with pytest.raises(longfat.LongfatError, match="there is no metric 'speed' of a run"):
        results.ellipse("speed")
