"""Hidden fields against enumeration: labels, coupling and emission parameters."""

import math
import warnings

import numpy as np
import pytest

import mrfbayes as mb
import oracles_hidden as oracle
from mrfbayes.hidden.segment import LIMIT_CRITICAL, segment
from mrfbayes.particles import log_z_curve
from mrfbayes.particles.log_z_curve import LogZCurve
from mrfbayes.results import diagnostics

Z_LIMIT = 5.0  # two-sided level 6e-7
LIMIT = {q: LIMIT_CRITICAL * math.log(1 + math.sqrt(q)) for q in (2, 3)}
NAN = float("nan")
SEEN = np.array([[0, 0, 1], [0, 1, 1], [NAN, 1, 0]])
GREYS = np.array([[0.1, -0.4, 1.9], [0.6, 1.4, NAN]])


def quiet_segment(image, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        return segment(image, progress=False, **options)


def z_scores(result, truth):
    """Distance of the posterior means from the truth in Monte-Carlo standard errors."""
    draws = result.draws[..., : len(truth)]
    return np.abs(draws.mean(axis=(0, 1)) - truth) / diagnostics.mcse_mean(draws)


@pytest.fixture(scope="module")
def confused():
    return quiet_segment(SEEN, states=2, emission="misclassification", draws=6000, rng=3)


def test_misclassified_labels_agree_with_enumeration(confused):
    seen = SEEN.ravel()
    truth = oracle.Truth(seen, oracle.grid_edges(3, 3), 2, lambda x: oracle.rate_evidence(seen, x), LIMIT[2])
    rates = [truth.mean_of(lambda x, s=s: oracle.rate_mean(seen, x, s)) for s in range(2)]
    expected = [truth.coupling[0], 1 - rates[0], rates[0], rates[1], 1 - rates[1]]
    assert (z_scores(confused, expected) < Z_LIMIT).all()
    assert confused.draws[..., 0].std() == pytest.approx(truth.coupling[1], rel=0.03)
    assert np.abs(confused.probabilities.reshape(9, 2) - truth.marginal(2)).max() < 0.01
    assert confused.log_z_error == 0.0


def test_wrong_log_z_is_detected(confused, monkeypatch):
    """Negative control: a beta step with the log Z of a tree, which 3x3 is not."""
    seen, edges = SEEN.ravel(), oracle.grid_edges(3, 3)
    truth = oracle.Truth(seen, edges, 2, lambda x: oracle.rate_evidence(seen, x), LIMIT[2])

    def tree_curve(field, region):
        w = np.linspace(region.low, region.high, 200)
        mean = len(edges) / (1 + np.exp(-w))
        return LogZCurve(w, len(edges) * np.log1p(np.exp(w)), mean)

    monkeypatch.setattr("mrfbayes.hidden.segment.log_z_curve", tree_curve)
    wrong = quiet_segment(SEEN, states=2, emission="misclassification", draws=6000, rng=3)
    assert (z_scores(wrong, [truth.coupling[0]]) > Z_LIMIT).all()


@pytest.mark.parametrize("neighbours", [4, 8])
def test_a_map_with_missing_cells_agrees_with_enumeration(neighbours):
    image = np.array([[0, 0, 1], [NAN, 2, 1], [0, 2, NAN]])
    result = quiet_segment(image, states=3, emission="none", neighbours=neighbours, draws=4000, rng=4)
    seen, edges = image.ravel(), oracle.grid_edges(3, 3, neighbours)
    known = np.isfinite(seen)
    limit = LIMIT[3] * 4 / neighbours
    truth = oracle.Truth(seen, edges, 3, lambda x: 0.0 if (x[known] == seen[known]).all() else -1e9, limit)
    assert z_scores(result, [truth.coupling[0]])[0] < Z_LIMIT
    assert np.abs(result.probabilities.reshape(9, 3) - truth.marginal(3)).max() < 0.01
    assert (result.labels.ravel()[known] == seen[known]).all()


def test_pseudolikelihood_would_be_detected():
    """Negative control: the same posterior with the pseudolikelihood of complete labels in place of the likelihood."""
    image = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 1]], dtype=float)
    result = quiet_segment(image, states=2, emission="none", draws=4000, rng=5)
    edges, x = oracle.grid_edges(3, 3), image.ravel()
    w = np.linspace(0, LIMIT[2], 2001)[:, None]
    same = np.array([sum(x[a] == x[b] for a, b in edges if i in (a, b)) for i in range(9)])
    degree = np.array([(edges == i).sum() for i in range(9)])
    log_pseudo = (-np.log1p(np.exp(w * (degree - 2 * same)))).sum(axis=1) + oracle.logistic_density(w[:, 0])
    density = np.exp(log_pseudo - log_pseudo.max())
    pseudo_mean = density @ w[:, 0] / density.sum()
    truth = oracle.Truth(x, edges, 2, lambda labels: 0.0 if (labels == x).all() else -1e9, LIMIT[2])
    assert z_scores(result, [truth.coupling[0]])[0] < Z_LIMIT
    assert z_scores(result, [pseudo_mean])[0] > Z_LIMIT


def test_gaussian_greys_agree_with_importance_sampling_over_all_labels():
    priors = {"mean_prior": (0.8, 1.0), "variance_prior": (3.0, 0.6)}
    result = quiet_segment(GREYS, states=2, draws=8000, rng=6, **priors)
    truth, error = oracle.gaussian_by_importance(
        GREYS.ravel(), oracle.grid_edges(2, 3), LIMIT[2], *priors.values(), 400_000, np.random.default_rng(7)
    )
    mcse = diagnostics.mcse_mean(result.draws)
    z = np.abs(result.draws.mean(axis=(0, 1)) - truth) / np.hypot(error, mcse)
    assert (z < Z_LIMIT).all(), z
    assert (np.diff(result.draws[..., 1:3]) >= 0).all()
    shifted = truth + 0.05
    assert (np.abs(result.draws.mean(axis=(0, 1)) - shifted) / np.hypot(error, mcse) > Z_LIMIT).any()


def test_same_seed_same_draws_whatever_ran_before(monkeypatch):
    monkeypatch.setattr(log_z_curve, "EXACT_CURVE_SECONDS", 0.0)
    image = np.add.outer(np.arange(6) > 2, np.zeros(6)) + np.random.default_rng(1).normal(0, 0.3, (6, 6))
    first = quiet_segment(image, states=3, draws=20, rng=1)
    quiet_segment(image * 2, states=3, draws=20, rng=2)
    again = quiet_segment(image, states=3, draws=20, rng=1)
    assert (first.draws == again.draws).all()
    assert (first.probabilities == again.probabilities).all()


def test_result_has_tables_pictures_and_bridges(confused):
    table = confused.summary(ci_prob=0.8)
    assert list(table.columns[:4]) == ["mean", "sd", "q10", "q90"]
    assert tuple(table.index) == confused.parameters
    assert "coupling" in confused._repr_html_()
    assert "3 x 3" in repr(confused)
    tree = confused.to_arviz()
    assert tree["posterior"]["values"].shape == (4, 6000, 5)
    assert tree["observed_data"]["image"].shape == (3, 3)
    assert np.allclose(confused.probabilities.sum(axis=2), 1)
    assert (confused.entropy >= 0).all()
    assert (confused.entropy <= math.log(2) + 1e-12).all()
    axes = confused.plot()
    assert len(axes) == 3
    with pytest.raises(mb.InputError, match=r"ci_prob.*1\.5"):
        confused.summary(ci_prob=1.5)


@pytest.mark.parametrize(
    ("options", "argument", "value"),
    [
        ({"states": 7}, "states", "7"),
        ({"states": 2.0}, "states", "2.0"),
        ({"emission": "poisson"}, "emission", "poisson"),
        ({"neighbours": 6}, "neighbours", "6"),
        ({"chains": 0}, "chains", "0"),
        ({"draws": 1}, "draws", "1"),
        ({"seconds": -1}, "seconds", "-1"),
        ({"seconds": "a"}, "seconds", "'a'"),
        ({"mean_prior": (0, -1)}, "mean_prior", "-1"),
        ({"variance_prior": (0.5, 1)}, "variance_prior", "0.5"),
        ({"image": np.ones((3, 3))}, "image", "1"),
        ({"image": np.full((3, 3), NAN)}, "image", "no observed pixel"),
        ({"image": np.ones(3)}, "image", "(3,)"),
        ({"image": [["a"]]}, "image", "list"),
        ({"image": SEEN + 5, "emission": "misclassification"}, "image", "5"),
        ({"image": SEEN, "emission": "none", "mean_prior": (0, 1)}, "mean_prior", "(0, 1)"),
        ({"image": SEEN, "prior": "nonsense"}, "prior", "nonsense"),
    ],
)
def test_bad_arguments_are_named(options, argument, value):
    image = options.pop("image", GREYS)
    with pytest.raises(mb.InputError) as caught:
        segment(image, progress=False, **options)
    assert argument in str(caught.value)
    assert value in str(caught.value)
