"""Independent draws as an engine: their order, their moments, and draws that are no numbers."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.engines.base import Setup
from mrfbayes.engines.direct import Direct
from mrfbayes.methods.problem import Prepared


def setup_of(draw, moments=None, chains=2, steps=12, thin=4):
    plan = SimpleNamespace(chains=chains, steps=steps, thin=thin)
    settings = SimpleNamespace(row=SimpleNamespace(label="MLE-L"))
    prepared = Prepared(None, draw=draw, moments=moments)
    return Setup(Direct(), SimpleNamespace(seed=np.random.SeedSequence(1)), settings, prepared, plan)


def test_draws_are_cut_into_chains_in_their_order():
    """Steps that thinning would leave out are not drawn at all."""
    setup = setup_of(lambda n, seed: np.arange(2.0 * n).reshape(n, 2))
    run = Direct().run(setup, None)
    assert run.draws.shape == (2, 3, 2)
    np.testing.assert_array_equal(run.draws[1], [[6, 7], [8, 9], [10, 11]])
    fields = Direct().outcome(setup, run).fields
    np.testing.assert_allclose(fields["mean"], [5, 6])
    np.testing.assert_allclose(fields["sd"], np.sqrt(70 / 5))  # of 0, 2, ..., 10 about 5
    assert fields["steps"] == 3


def test_moments_in_closed_form_come_before_those_of_draws():
    known = np.array([0.3]), np.array([0.1])
    setup = setup_of(lambda n, seed: np.full((n, 1), 0.5), known)
    fields = Direct().outcome(setup, Direct().run(setup, None)).fields
    assert (fields["mean"], fields["sd"]) == known


def test_draws_that_are_no_numbers_are_refused():
    def draw(n, seed):
        return np.where(np.arange(n)[:, None] == 4, np.nan, 0.5)

    with pytest.raises(mb.SamplingError, match=r"MLE-L.*engine='mh'"):
        Direct().run(setup_of(draw), None)


def test_draws_keep_their_log_odds_where_theta_rounds_to_one(tmp_path):
    x = np.random.default_rng(0).integers(0, 2, (100, 4))
    x[:, 3] = 1  # its threshold is bounded by the prior alone
    model = mb.complete(list("abcd"), fields=True, coupling="both-one")
    with pytest.warns(mb.MRFWarning, match="hardly bounded by the data"):
        live = mb.sample(model, x, "calibrated", rng=1, progress=False)
    assert (live.draws == 1).any()
    assert np.isfinite(live.log_odds).all()
    table = live.summary(scale="log-odds")
    assert np.isfinite(table.loc["d"]).all()
    ordered = np.sort(live.log_odds[..., -1].ravel())
    assert ordered[int(0.94 * ordered.size)] < table.loc["d", "q95"] < ordered[int(0.96 * ordered.size)]
    assert not mb.marginals(model, live).table.isna().any().any()
    assert not live.predictability().isna().any().any()
    assert mb.predictive_check(live, replicates=20, rng=1, progress=False).table["p_value"].notna().all()
    live.save(tmp_path / "r.nc")
    loaded = mb.load(tmp_path / "r.nc")
    np.testing.assert_array_equal(loaded.log_odds, live.log_odds)
    pd.testing.assert_frame_equal(loaded.summary(scale="log-odds"), table, check_exact=True)


def test_log_odds_that_follow_from_theta_are_not_kept_twice():
    model = mb.graph([("a", "b"), ("b", "c")])
    x = mb.simulate(model, 0.7, 200, rng=1, progress=False)
    found = mb.sample(model, x, "calibrated", rng=1, progress=False)
    assert found.w is None
    joint = found._draw.__self__
    drawn = joint.draw_log_odds(5, np.random.SeedSequence(1))
    np.testing.assert_allclose(joint.draw(5, np.random.SeedSequence(1)), 1 / (1 + np.exp(-drawn)), rtol=1e-14)
