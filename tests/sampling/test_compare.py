"""Several methods side by side."""

import numpy as np
import pytest

import mrfbayes as mb

MODEL = mb.grid(2, 3)
X = np.random.default_rng(3).integers(0, 2, (60, 6))
SETTINGS = {"engine": "mh", "draws": 2_000, "thin": 2, "warmup": 1_000, "chains": 2, "progress": False}
METHODS = ("exact", "pseudo", {"method": "mle", "rho": 0.05})


pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.base.errors.MRFWarning")  # short chains say that they are


@pytest.fixture(scope="module")
def comparison():
    return mb.compare(MODEL, X, methods=METHODS, **SETTINGS)


def test_a_row_a_method_with_errors_against_the_exact_one(comparison):
    table = comparison.table
    assert list(table.index) == ["exact", "pseudo", "mle rho=0.05"]
    assert comparison.reference == "exact"
    exact, pseudo = comparison.posteriors["exact"], comparison.posteriors["pseudo"]
    error = np.abs(pseudo.mean - exact.mean) / exact.sd
    assert table.loc["pseudo", "mean_error_sd"] == pytest.approx(error.mean())
    assert table.loc["pseudo", "mean_error_max"] == pytest.approx(error.max())
    assert table.loc["pseudo", "sd_ratio"] == pytest.approx((pseudo.sd / exact.sd).mean())
    assert table.loc["exact", "mean_error_sd"] == 0
    assert "pseudo" in repr(comparison)


def test_processes_change_nothing(comparison):
    apart = mb.compare(MODEL, X, methods=METHODS, workers=2, **SETTINGS)
    assert list(apart.posteriors) == list(comparison.posteriors)
    for name, posterior in comparison.posteriors.items():
        assert np.array_equal(apart.posteriors[name].draws, posterior.draws)


def test_warnings_of_worker_processes_are_emitted():
    settings = {**SETTINGS, "draws": 50, "warmup": 10}
    with pytest.warns(mb.MRFWarning, match="effective sample size"):
        mb.compare(MODEL, X, methods=("exact", "pseudo"), workers=2, **settings)


def test_a_stuck_chain_is_called_stuck():
    settings = {**SETTINGS, "draws": 50, "warmup": 10}
    assert set(mb.compare(MODEL, X, methods=("exact",), **settings).table["verdict"]) == {"stuck"}


@pytest.mark.parametrize("workers", [1, 2])
def test_without_an_exact_one_there_are_no_errors(workers):
    wide = mb.grid(34, 34, fields=True)  # 256 GiB; without fields it is planar, and exact
    x = np.random.default_rng(4).integers(0, 2, (50, 34 * 34))
    short = {**SETTINGS, "draws": 20, "warmup": 10, "chains": 1}
    found = mb.compare(wide, x, methods=("exact", "pseudo"), estimate=_Flat(wide), workers=workers, **short)
    assert found.reference is None
    assert list(found.table.index) == ["pseudo"]
    assert "sd_ratio" not in found.table
    with pytest.raises(mb.CostError):
        mb.compare(wide, x, methods=("exact",), reference=None, estimate=_Flat(wide), workers=workers, **short)


class _Flat:
    """Stands for an estimate."""

    boundary, penalised, warnings = (), False, ()

    def __init__(self, model):
        self.theta, self.log_odds = np.full(model.n_parameters, 0.5), np.zeros(model.n_parameters)


@pytest.mark.parametrize(
    ("methods", "changes", "message"),
    [
        ([{"rho": 0.1}], {}, "does not say which"),
        (["exact", "exact"], {}, "twice"),
        (["exact"], {"workers": 0}, "workers"),
        (["no-such"], {}, "no-such"),
        ("exact", {}, "methods = 'exact': give a list"),
        (None, {}, "methods = None: give a list"),
    ],
)
def test_bad_arguments_are_refused(methods, changes, message):
    with pytest.raises(mb.InputError, match=message):
        mb.compare(MODEL, X, methods=methods, **{**SETTINGS, **changes})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"methods": []}, "methods is empty"),
        ({"methods": [3]}, "methods: 3 is neither the name"),
        ({"reference": "exakt"}, "reference = 'exakt': choose one of 'exact'"),
    ],
)
def test_methods_and_reference_are_checked(given, message):
    with pytest.raises(mb.InputError, match=message):
        mb.compare(MODEL, X, **given)


def test_scales_of_priors_are_numbers():
    with pytest.raises(mb.InputError, match="scales: expected numbers, got str"):
        mb.prior_sensitivity(MODEL, X, scales="a")
