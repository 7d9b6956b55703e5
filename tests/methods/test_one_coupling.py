"""The posterior of one coupling by quadrature, against enumeration, and where it applies."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.methods.few_parameters import tied_field
from mrfbayes.particles import log_z_curve


def truth(model, counts, n):
    """Mean and sd of theta under the uniform prior, from all configurations and a fine grid."""
    q = int(model.states[0])
    x = np.array(list(itertools.product(range(q), repeat=model.n_nodes)))
    s = (x[:, model.edges[:, 0]] == x[:, model.edges[:, 1]]).sum(axis=1)
    values, number = np.unique(s, return_counts=True)
    theta = (np.arange(20_000) + 0.5) / 20_000
    w = np.log(theta / (1 - theta))
    log_z = np.logaddexp.reduce(np.multiply.outer(w, values) + np.log(number), axis=1)
    logs = counts * w - n * log_z
    p = np.exp(logs - logs.max())
    p /= p.sum()
    mean = p @ theta
    return mean, np.sqrt(p @ (theta - mean) ** 2)


def agreements(model, x):
    return float((x[:, model.edges[:, 0]] == x[:, model.edges[:, 1]]).sum())


def images(q, n, seed):
    return np.random.default_rng(seed).integers(0, q, (n, 9))


@pytest.mark.parametrize(("q", "neighbours", "n"), [(2, 4, 6), (3, 4, 4), (2, 8, 6)])
def test_mean_and_sd_are_those_of_enumeration(q, neighbours, n):
    model, x = mb.grid(3, 3, states=q, tied=True, neighbours=neighbours), images(q, n, seed=q)
    x[:, 1] = x[:, 0]
    post = mb.sample(model, x, "calibrated", prior="uniform", rng=1, progress=False)
    assert post.target == "exact"
    counts = agreements(model, x)
    mean, sd = truth(model, counts, n)
    assert post.mean[0] == pytest.approx(mean, abs=1e-3 * sd)
    assert post.sd[0] == pytest.approx(sd, rel=1e-3)
    assert post.draws.mean() == pytest.approx(mean, abs=5 * sd / np.sqrt(post.draws.size))
    other_mean, other_sd = truth(model, counts + 3, n)  # the check can fail
    assert abs(post.mean[0] - other_mean) > 0.05 * other_sd


def test_sampled_log_z_states_its_error(monkeypatch):
    monkeypatch.setattr(log_z_curve, "EXACT_CURVE_SECONDS", 0.0)
    model, x = mb.grid(3, 3, states=3, tied=True), images(3, 8, seed=5)
    x[:, 1] = x[:, 0]
    x[:, 4] = x[:, 3]
    post = mb.sample(model, x, "calibrated", prior="uniform", rng=1, progress=False)
    assert post.target == "approximate"
    mean, sd = truth(model, agreements(model, x), 8)
    # Standard errors from eight chains: a t distribution of seven degrees of freedom is below 15 at level 1e-6.
    assert 0 < post.facts.mean_error < 0.1
    assert abs(post.mean[0] - mean) < 15 * post.facts.mean_error * sd
    assert abs(post.sd[0] / sd - 1) < 15 * post.sd_error[0]


def sampled_and_exact(side, q, w, monkeypatch):
    """The posterior of one simulated image by a sampled curve of log Z, and by the exact one."""
    model = mb.grid(side, side, states=q, tied=True)
    x = mb.simulate(model, model.chart.theta(np.array([w])), 1, rng=side, progress=False)
    options = {"prior": "uniform", "rng": 1, "progress": False}
    exact = mb.sample(model, x, "calibrated", **options)
    monkeypatch.setattr(log_z_curve, "EXACT_CURVE_SECONDS", 0.0)
    return mb.sample(model, x, "calibrated", **options), exact


@pytest.mark.parametrize(("side", "q", "w"), [(32, 2, 0.6), (32, 2, 0.88), (24, 2, -0.7), (7, 4, 0.9), (7, 4, 1.2)])
def test_sd_by_a_sampled_log_z_is_within_two_percent(side, q, w, monkeypatch):
    sampled, exact = sampled_and_exact(side, q, w, monkeypatch)
    assert exact.facts.trust == "log Z is exact"
    assert 0 < sampled.sd_error[0] < 0.01
    assert sampled.sd[0] == pytest.approx(exact.sd[0], rel=0.02)
    assert sampled.mean[0] == pytest.approx(exact.mean[0], abs=0.1 * exact.sd[0])


def test_only_fields_with_one_agreement_coupling_qualify():
    assert tied_field(mb.grid(3, 3, tied=True)) is not None
    assert tied_field(mb.graph([(0, 1), (1, 2)], tied=True, states=3)) is not None
    others = [
        mb.grid(3, 3),
        mb.grid(3, 3, tied=True, fields=True),
        mb.grid(3, 3, tied="direction"),
        mb.grid(3, 3, tied=True, coupling="both-one"),
        mb.grid(3, 3, tied=True, states=3, coupling="score"),
    ]
    assert [tied_field(model) for model in others] == [None] * len(others)
