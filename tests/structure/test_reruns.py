"""Short runs under other priors: sensitivity of a search, and the evidence of no difference, against enumeration."""

import numpy as np
import pytest
from scipy.special import comb, logsumexp

import mrfbayes as mb
from mrfbayes.structure.problem import graph_prior
from mrfbayes.structure.reruns import slab_rows
from structure.group_cases import difference_evidences, some_groups

pytestmark = pytest.mark.filterwarnings("ignore:the inclusion probability")
RUN = {"draws": 1_000, "chains": 2, "progress": False}


@pytest.mark.parametrize(
    "prior", ["bernoulli(0.5)", "bernoulli(0.99)", "beta-bernoulli(0.5, 0.5)", "beta-bernoulli(1, 9)", [0.9, 0.6, 0.02]]
)
def test_no_difference_is_against_the_prior_of_the_comparison(prior):
    model, statistics, data = some_groups(d=3, n=(150, 150), seed=6)
    graphs, log_p, errors = difference_evidences(model, statistics, data)
    none, log_prior = ~graphs.any(axis=1), graph_prior(model, prior).log_probability(graphs)
    exact = log_p[none][0] - logsumexp(log_p + log_prior)
    found = mb.compare_groups(model, data, prior="uniform", differences=prior, **RUN)
    said = found.no_difference(progress=False)
    assert said["log_bf"] == pytest.approx(exact, abs=5 * np.hypot(max(said["error"], 0.02), errors.max()))


def test_no_difference_is_impossible_where_one_is_certain_and_has_no_error_with_one_chain():
    model, _, data = some_groups(d=3, n=(150, 150), seed=6)
    certain = mb.compare_groups(model, data, differences=[1, 0.5, 0.5], **RUN).no_difference(progress=False)
    assert certain["log_bf"] == -np.inf
    assert 0 < certain["error"] < 0.2
    alone = mb.compare_groups(model, data, **(RUN | {"chains": 1})).no_difference(progress=False)
    assert np.isnan(alone["error"])
    assert np.isfinite(alone["log_bf"])


@pytest.mark.parametrize("seed", [6, 8])
def test_no_difference_has_the_evidence_of_all_subsets(seed, tmp_path):
    model, statistics, data = some_groups(d=3, n=(150, 150), seed=seed)
    graphs, log_p, errors = difference_evidences(model, statistics, data)
    none, size = ~graphs.any(axis=1), graphs.sum(axis=1)
    exact = log_p[none][0] - (logsumexp(log_p) - np.log(len(graphs)))
    uniform = log_p[none][0] - logsumexp(log_p - np.log(4 * comb(3, size)))
    found = mb.compare_groups(model, data, prior="uniform", **RUN)
    said = found.no_difference(progress=False)
    allowed = 5 * np.hypot(max(said["error"], 0.02), errors.max())
    assert said["log_bf"] == pytest.approx(exact, abs=allowed)
    assert said["log_bf_uniform"] == pytest.approx(uniform, abs=allowed)
    assert abs(exact) > allowed  # so that a wrong sign is noticed
    found.save(tmp_path / "groups.nc")
    assert mb.load(tmp_path / "groups.nc").no_difference() == said
    strength = found.global_strength()
    assert strength.index.tolist() == ["a", "b", "b - a"]
    change = strength["global_strength"]
    assert change["b - a"] == pytest.approx(change["b"] - change["a"])


def test_verdicts_under_other_priors_are_those_of_searches_with_them(tmp_path):
    model, _, data = some_groups(d=4)
    found = mb.select(model, data["b"], **RUN)
    table = found.sensitivity(progress=False)
    assert (table["slab"].nunique(), table["graphs"].nunique()) == (4, 3)
    np.testing.assert_array_equal(table[["present", "undecided", "absent"]].sum(axis=1), model.n_edges)
    assert table["changed"].iloc[0] == 0
    rows = found.computed["sensitivity"]
    for k in (1, len(rows) - 1):  # another slab, another prior over graphs
        again = mb.select(model, data["b"], slab=rows[k]["slab"], edges=rows[k]["graphs"], rng=5, **RUN)
        gap = np.abs(np.array(rows[k]["log_bf10"]) - again.log_bf10)
        assert (gap / np.hypot(rows[k]["error"], again.log_bf10_error) < 6).all()
    assert np.abs(np.array(rows[1]["log_bf10"]) - rows[0]["log_bf10"]).max() > 0.3
    robust = table.attrs["robust"]
    assert robust.tolist() == [len(set(row)) == 1 for row in table.attrs["verdicts"].to_numpy().tolist()]
    found.save(tmp_path / "graphs.nc")
    assert mb.load(tmp_path / "graphs.nc").sensitivity().equals(table)
    bare = mb.select(model, data["b"], **RUN)
    bare.save(tmp_path / "bare.nc")
    with pytest.raises(mb.InputError, match="sensitivity"):
        mb.load(tmp_path / "bare.nc").sensitivity()


def some_tables(n=250):
    """A binary and a nominal variable that depend on each other, and a binary one that does not."""
    rng = np.random.default_rng(7)
    town = rng.integers(0, 3, n)
    ill = (rng.random(n) < np.array([0.35, 0.5, 0.6])[town]).astype(int)
    return {"town": np.array(["Bern", "Lima", "Oslo"])[town], "ill": ill, "old": rng.integers(0, 2, n)}


def test_tables_are_compared_under_four_slabs_and_three_priors_over_graphs():
    data = mb.Data(some_tables())
    model = mb.Model.from_data(data)
    assert (model.chart.sides[: model.n_edges] > 2).any()
    table = mb.select(model, data, **RUN).sensitivity(progress=False)
    assert (table["slab"].nunique(), table["graphs"].nunique()) == (4, 3)
    other = mb.select(model, data, slab="normal(0, 0.7)", edges="bernoulli(0.3)", **RUN).sensitivity(progress=False)
    assert (other["slab"].nunique(), other["graphs"].nunique()) == (5, 4)  # and its own


def test_the_factor_of_a_table_under_another_slab_is_that_of_a_posterior_with_it():
    """With one edge nothing else changes when its prior does."""
    data = mb.Data({name: some_tables()[name] for name in ("town", "ill")})
    model = mb.Model.from_data(data)
    run = {"method": "exact", "draws": 2_000, "rng": 3, "progress": False}
    post = mb.sample(model, data, prior={"edges": "normal(0, 1)"}, **run)
    rows = {row["slab"]: row for row in slab_rows(post, post.edges())}
    assert list(rows) == ["normal(0, 1)", "normal(0, 0.5)", "normal(0, 2)", "normal(0, 4)"]
    for slab, row in rows.items():
        again = mb.sample(model, data, prior={"edges": slab}, **run).edges()
        gap = abs(row["log_bf10"][0] - again["log_bf10"].iloc[0])
        assert gap < 5 * np.hypot(row["error"][0], again["log_bf10_error"].iloc[0]), slab
    values = [row["log_bf10"][0] for row in rows.values()]
    assert max(values) - min(values) > 0.5  # so that a density that does not depend on the slab is noticed
