"""The exact posterior of planar fields that no tables can hold: proposals, trajectories, walks, evidence, edges."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.calibration import full
from mrfbayes.exact import choice
from mrfbayes.results import bayes_factors
from mrfbayes.targets import corrected


@pytest.fixture(scope="module")
def data():
    """A field of 16 nodes and its data, for whom tables give the answer."""
    model = mb.grid(4, 4)
    return mb.Data(mb.simulate(model, np.linspace(0.45, 0.8, 24), 60, rng=4, progress=False)).count(model)


@pytest.fixture(scope="module")
def by_tables(data):
    post = mb.sample(mb.grid(4, 4), data, "exact", rng=5, progress=False)
    return post, mb.evidence(mb.grid(4, 4), data, draws=10_000), post.edges()


@pytest.fixture
def planar_only(monkeypatch):
    """The same field as though there were no tables."""
    monkeypatch.setattr(choice, "_tables", lambda model, work: None)
    return mb.grid(4, 4)


@pytest.mark.filterwarnings("ignore:largest R-hat")  # few draws
@pytest.mark.parametrize(
    ("engine", "draws", "thin"), [("independence", 2_000, 5), ("hmc", 1_000, 1), ("mh", 2_000, 10)]
)
def test_every_engine_gives_the_posterior_of_the_tables(planar_only, data, by_tables, engine, draws, thin):
    known = by_tables[0]
    post = mb.sample(planar_only, data, "exact", engine=engine, draws=draws, thin=thin, chains=2, rng=6, progress=False)
    assert (post.target, post.engine, post.details["recursion"]) == ("exact", engine, "PlanarRecursion")
    error = known.sd / np.sqrt(np.minimum(post.ess, draws * thin))
    assert np.abs((post.mean - known.mean) / error).max() < 6
    np.testing.assert_allclose(post.sd, known.sd, rtol=0.15)


def test_evidence_and_bayes_factors_are_those_of_the_tables(planar_only, data, by_tables, monkeypatch):
    _, known, edges = by_tables
    found = mb.evidence(planar_only, data, draws=10_000, rng=9)
    assert abs(found.log_evidence - known.log_evidence) < 6 * np.hypot(found.standard_error, known.standard_error)
    assert found.pareto_k < 0.7
    monkeypatch.setattr(bayes_factors, "FACTOR_DRAWS", 500)
    table = mb.sample(planar_only, data, "exact", rng=7, progress=False).edges()
    assert table.attrs["source"] == "importance weights"
    error = np.hypot(table["log_bf10_error"], edges["log_bf10_error"])
    assert np.abs((table["log_bf10"] - edges["log_bf10"]) / error).max() < 6


@pytest.mark.filterwarnings("ignore:largest R-hat", "ignore:.*rows have missing cells")
def test_missing_cells_are_summed_over(monkeypatch):
    """Hidden cells fall into components that tables hold, whatever the whole field takes."""
    model = mb.grid(4, 4)
    x = mb.simulate(model, np.linspace(0.45, 0.8, 24), 30, rng=4, progress=False).astype(float)
    x[np.random.default_rng(1).random(x.shape) < 0.1] = np.nan
    known = mb.sample(model, x, "exact", rng=5, progress=False)
    monkeypatch.setattr(choice, "_tables", lambda model, work: None)
    monkeypatch.setattr(full, "PROPOSAL_CELLS", 0.0)
    options = {"draws": 1_666, "thin": 3, "chains": 2, "rng": 6, "progress": False}
    post = mb.sample(mb.grid(4, 4), x, "exact", **options)
    assert (post.engine, post.details["proposal_moments"]) == ("independence", "windows")
    assert np.abs((post.mean - known.mean) / (known.sd / np.sqrt(np.minimum(post.ess, 5_000)))).max() < 6
    np.testing.assert_allclose(post.sd, known.sd, rtol=0.15)


def test_large_planar_fields_get_fewer_draws_for_each_edge():
    assert bayes_factors.factor_draws(mb.grid(4, 4)) == bayes_factors.FACTOR_DRAWS
    assert bayes_factors.FEWEST_DRAWS <= bayes_factors.factor_draws(mb.grid(22, 22)) < bayes_factors.FACTOR_DRAWS
    assert bayes_factors.factor_draws(mb.grid(100, 100)) == 0
    assert not bayes_factors.needs_rows(mb.grid(22, 22))


@pytest.mark.filterwarnings("ignore:largest R-hat")
def test_a_wide_field_is_drawn_from_by_proposals_and_weighed():
    model = mb.grid(22, 22)
    theta = np.random.default_rng(1).uniform(0.5, 0.8, size=model.n_parameters)
    x = mb.simulate(model, theta, 1_000, sampler="gibbs", rng=2, sweeps=100, progress=False)
    post = mb.sample(model, x, "exact", draws=500, warmup=0, chains=1, rng=3, progress=False)
    assert (post.target, post.engine) == ("exact", "independence")
    assert post.details["efficiency"] > 0.5
    assert post.details["proposal_moments"] == "windows"
    assert np.corrcoef(post.mean, theta)[0, 1] > 0.9


@pytest.mark.filterwarnings("ignore:largest R-hat")
def test_proposals_that_fit_badly_make_way_for_trajectories(planar_only, data, monkeypatch):
    monkeypatch.setattr(corrected.Proposal, "is_trusted", property(lambda self: False))
    post = mb.sample(planar_only, data, "exact", draws=12, warmup=6, chains=1, rng=3, progress=False)
    assert post.engine == "hmc"
    assert any("ran instead" in text for text in post.notes)
    assert post.acceptance.mean() > 0.5
