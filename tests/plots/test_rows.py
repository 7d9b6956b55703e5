"""Forests, evidence and ranks: order, colours and cuts."""

from types import SimpleNamespace

import numpy as np
from matplotlib.colors import to_hex

import mrfbayes as mb
from mrfbayes.plots import style
from mrfbayes.plots.rows import _power


def test_a_forest_of_many_shows_the_surest_and_keeps_all():
    model = mb.grid(12, 12)
    rng = np.random.default_rng(3)
    counts = rng.binomial(200, rng.uniform(0.4, 0.8, model.n_parameters)).astype(float)
    statistics = mb.Statistics.from_counts(model, counts, 200)
    theta = np.clip(counts / 200, 0.05, 0.95)
    post = mb.sample(model, statistics, "mle", estimate=theta, draws=50, progress=False)
    ax = mb.plots.forest(post)
    assert len(ax.get_yticks()) == 40
    assert len(mb.plots.data(ax)) == 264
    assert "surest 40 of 264" in ax.get_title(loc="left")


def test_the_axis_of_evidence_is_cut_at_a_million_both_ways(posterior):
    powers = np.array([40.0, 6.5, 2.0, 0.5, 0.0, -0.5, -2.0, -5.0, -7.0, -40.0])
    edges = posterior.edges().assign(log_bf10=powers * np.log(10), log_bf10_error=0.1)
    ax = mb.plots.edge_evidence(posterior, edges=edges)
    marks = {line.get_marker(): sorted(line.get_xdata()) for line in ax.lines if line.get_marker() in "<>"}
    assert marks == {">": [6, 6], "<": [-6, -6]}
    assert -7 < ax.get_xlim()[0] < -6 < 6 < ax.get_xlim()[1] < 7
    np.testing.assert_allclose(mb.plots.data(ax)["log_bf10"].sort_values(), np.sort(powers) * np.log(10))  # not cut


def test_equal_draws_of_all_chains_have_equal_ranks():
    """An edge that is absent in most draws has many zeros; in the order of chains they would look like no mixing."""
    draws = np.zeros((4, 1_000, 1))
    absent = SimpleNamespace(draws=draws, r_hat=np.ones(1), parameters=["a--b"])
    counts = mb.plots.data(mb.plots.ranks(absent)).to_numpy()
    assert counts.sum() == 4_000
    assert counts.min() > 25  # 50 are expected
    assert counts.max() < 80


def test_a_forest_has_the_surest_first_and_colours_by_sign():
    rng = np.random.default_rng(6)
    first, second, third = rng.integers(0, 2, (3, 200))
    flips = rng.random((2, 200)) < 0.1
    x = np.stack([first, first ^ flips[0], second, 1 - (second ^ flips[1]), third, rng.integers(0, 2, 200)], axis=1)
    model = mb.graph([("a", "b"), ("c", "d"), ("e", "f")])
    ax = mb.plots.forest(mb.sample(model, x, "mle", rng=1, progress=False))
    assert mb.plots.data(ax).index[-1] == "e--f"
    colours = [to_hex(colour).upper() for colour in ax.collections[0].get_colors()]  # in the order of the means
    assert colours == [to_hex(colour).upper() for colour in (style.NEGATIVE, style.MUTED, style.POSITIVE)]


def test_powers_of_ten_are_fractions_below_one():
    assert [_power(k) for k in (-6, -2, 0, 2, 6)] == ["$10^{-6}$", "1/100", "1", "100", "$10^{6}$"]
