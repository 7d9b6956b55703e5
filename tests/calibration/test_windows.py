"""Loops taken window by window against those of the whole field."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.calibration import windows
from mrfbayes.calibration.cumulants import ExactCumulants
from mrfbayes.calibration.expansion import find_mode, prior_tensors, third_order
from mrfbayes.calibration.one_loop import one_loop
from mrfbayes.calibration.windows import loop_ratios
from mrfbayes.exact.banded import parameter_levels
from mrfbayes.exact.quantities import moments_w, sample_exact
from mrfbayes.priors import Prior

MODEL = mb.grid(24, 3, fields=True)
N = 150


@pytest.fixture(scope="module")
def mode():
    rng = np.random.default_rng(4)
    theta = np.where(np.arange(MODEL.n_parameters) < MODEL.n_edges, rng.uniform(0.6, 0.85, MODEL.n_parameters), 0.5)
    counts = mb.Data(sample_exact(MODEL, MODEL.chart.log_odds(theta), N, seed_sequence(5))).count(MODEL).counts
    return find_mode(
        lambda w: moments_w(MODEL, w),
        lambda w: ExactCumulants(MODEL, w),
        counts,
        N,
        Prior(MODEL, "uniform"),
        np.zeros(MODEL.n_parameters),
    )


def test_windows_cover_every_parameter_once():
    level = parameter_levels(MODEL)
    counted = np.zeros(MODEL.n_parameters, dtype=int)
    for window in windows.windows(MODEL, level):
        assert window.model.n_parameters == window.parameter.size == np.unique(window.parameter).size
        np.add.at(counted, window.parameter[window.middle], 1)
    assert (counted == 1).all()


def test_ratios_are_those_of_the_whole_field(mode):
    prior = Prior(MODEL, "uniform")
    order = third_order(mode, N, prior_tensors(prior, mode.w, mode.covariance))
    whole = np.diag(one_loop(mode, N, order, seed_sequence(1))) / np.diag(mode.covariance)
    ratios = loop_ratios(MODEL, mode.w, N, prior, parameter_levels(MODEL), seed_sequence(2))
    assert np.abs(whole - 1).mean() > 0.02  # no small thing
    assert np.abs(ratios - whole).mean() < 0.1 * np.abs(whole - 1).mean()
    assert np.abs(ratios - whole).max() < 0.05


def test_a_part_of_the_windows_leaves_the_others_open(mode):
    some = loop_ratios(MODEL, mode.w, N, Prior(MODEL, "uniform"), parameter_levels(MODEL), seed_sequence(2), every=3)
    assert 0 < np.isfinite(some).sum() < 0.6 * some.size
