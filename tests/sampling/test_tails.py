"""Heavy tails and separable data: right on both sides, or said."""

import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import mrfbayes as mb
from mrfbayes.results import diagnostics

PAIR = mb.grid(1, 2)
ROWS = 20
LIMIT = 3.0  # stated Monte-Carlo errors; seeds are fixed


def quantile(log_prior, probability):
    """Quantile of the log-odds of agreement after ROWS rows that all agree, by quadrature on w = sinh(u)."""

    def density(u):
        w = np.sinh(u)
        return np.exp(-ROWS * np.logaddexp(0, -w) + log_prior(w)) * np.cosh(u)

    def mass(stop):
        return quad(density, -10, stop, limit=500, points=[0.0, 2.0, 4.0] if stop > 4 else None)[0]

    total = mass(30.0)
    return np.sinh(brentq(lambda u: mass(u) / total - probability, -2.0, 20.0))


def rows(is_equal):
    x = np.zeros((ROWS, 2), dtype=int)
    x[:, 1] = not is_equal
    return x


def fit(is_equal, prior, **settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        posterior = mb.sample(PAIR, rows(is_equal), "exact", prior=prior, progress=False, **settings)
    return posterior, [str(one.message) for one in caught]


def test_the_truth_of_the_cauchy_example():
    assert quantile(lambda w: -np.log1p((w / 2.5) ** 2), 0.95) == pytest.approx(76.7, abs=0.1)


@pytest.mark.parametrize("is_equal", [True, False])
def test_cauchy_prior_on_separable_data_has_the_right_quantiles(is_equal):
    posterior, _ = fit(is_equal, "cauchy(0, 2.5)")
    w = posterior.log_odds if is_equal else -posterior.log_odds
    for probability in (0.05, 0.5, 0.95):
        truth = quantile(lambda w: -np.log1p((w / 2.5) ** 2), probability)
        error = diagnostics.mcse_quantile(w, probability)[0]
        assert abs(np.quantile(w, probability) - truth) < LIMIT * error
    table = posterior.summary(scale="log-odds")
    assert table.attrs["no_mean"] == list(PAIR.parameters)
    assert np.isnan(table["mean"]).all()
    assert (table["mcse_q95"] > 0).all()
    assert not posterior.summary(scale="theta").isna().any().any()  # the mean of theta exists


@pytest.mark.parametrize("is_equal", [True, False])
def test_wide_normal_prior_on_separable_data_is_no_error(is_equal):
    posterior, _ = fit(is_equal, "normal(0, 20)")
    w = posterior.log_odds if is_equal else -posterior.log_odds
    assert np.abs(w).max() > 50  # beyond what theta can tell from 1
    for probability in (0.05, 0.5, 0.95):
        truth = quantile(lambda w: -0.5 * (w / 20) ** 2, probability)
        assert abs(np.quantile(w, probability) - truth) < 4 * diagnostics.mcse_quantile(w, probability)[0]
    assert "no_mean" not in posterior.summary(scale="log-odds").attrs


def test_collinear_columns_under_a_cauchy_prior_have_finite_quantiles():
    """Two columns that are always equal: their couplings to a third are known only in sum."""
    rng = np.random.default_rng(2)
    a = rng.integers(0, 2, 60)
    b = np.where(rng.random(60) < 0.8, a, 1 - a)
    x = np.stack([a, a, b], axis=1)
    model = mb.graph([(0, 2), (1, 2)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        posterior = mb.sample(model, x, "exact", prior="cauchy(0, 2.5)", progress=False)
    table = posterior.summary(scale="log-odds")
    assert np.isfinite(table[["q5", "q95"]]).all().all()
    for probability in (0.05, 0.5, 0.95):  # the columns may be exchanged, and so may their couplings
        errors = diagnostics.mcse_quantile(posterior.log_odds, probability)
        at = np.quantile(posterior.log_odds, probability, axis=(0, 1))
        assert abs(at[0] - at[1]) < 5 * np.hypot(*errors)


def test_light_tails_have_a_mean():
    rng = np.random.default_rng(1)
    light, heavy = rng.normal(size=(4, 1000, 3)), rng.standard_cauchy((4, 1000, 3))
    assert (diagnostics.tail_index(light) < 0.3).all()
    assert (diagnostics.tail_index(heavy) > diagnostics.MOST_TAIL_INDEX).all()


def test_saved_results_keep_log_odds_beyond_theta(tmp_path):
    posterior, _ = fit(True, "normal(0, 20)")
    posterior.save(tmp_path / "tails.nc")
    assert np.array_equal(mb.load(tmp_path / "tails.nc").log_odds, posterior.log_odds)
