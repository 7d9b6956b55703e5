"""Differences between groups against enumeration of which edges differ, and what is refused."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.priors import Prior
from mrfbayes.structure.groups import GroupComparison, group_coordinates
from structure.graph_cases import case, complete
from structure.group_cases import exact_differences, some_groups
from structure.result_cases import COMMON, MODEL

FAST = {"draws": 1_500, "thin": 2, "chains": 2, "progress": False, "prior": "uniform"}
SHORT_RUNS = pytest.mark.filterwarnings("ignore:the inclusion probability")


def compared(groups):
    """Baseline and contrasts with known means; group g is the baseline plus rate[g] times the contrasts."""
    n, p = len(groups), MODEL.n_parameters
    rate = np.column_stack([np.ones(n), np.vstack([-0.5 * np.ones(n - 1), np.eye(n - 1) * 1.0])])
    coordinates = np.zeros((1, 3, n, p))
    coordinates[0, :, 1:, :] = np.array([1.0, 2.0, 3.0])[:, None, None]
    mean, sd = np.zeros((n, p)), np.full((n, p), 0.25)
    mean[1:] = 2.0
    return GroupComparison(
        **COMMON,
        groups=groups,
        coordinates=coordinates,
        rate=rate,
        coordinate_mean=mean,
        coordinate_sd=sd,
        group_n=(10.0,) * n,
    )


def test_differences_are_those_of_all_subsets():
    model, statistics, data = some_groups()
    inclusion, error = exact_differences(model, statistics, data)
    found = mb.compare_groups(model, data, **FAST)
    z = np.abs(found.inclusion - inclusion) / np.hypot(np.maximum(found.inclusion_error, 1e-4), error)
    assert z.max() < 5, z
    wrong = np.abs(np.clip(inclusion + 0.03, 0, 1) - found.inclusion) / np.hypot(found.inclusion_error, error)
    assert wrong.max() > 5
    table = found.summary()
    assert list(table.index) == list(model.parameters)
    about = ["inclusion", "inclusion_error", "inclusion_ess", "inclusion_r_hat", "log_bf10", "log_bf10_error"]
    assert list(table.columns[:8]) == [*about, "verdict", "fragile"]
    assert list(table.columns[8:]) == ["mean", "sd", "q5", "q95", "mcse_mean", "ess_bulk", "ess_tail", "r_hat"]
    assert np.isnan(table.inclusion.iloc[model.n_edges :]).all()
    log_odds = found.log_odds
    np.testing.assert_allclose(log_odds[..., 1, :] - log_odds[..., 0, :], found.coordinates[..., 1, :])
    swapped = mb.compare_groups(model, dict(reversed(data.items())), rng=1, **FAST)
    np.testing.assert_allclose(swapped.summary()["mean"], -table["mean"], atol=0.06)
    np.testing.assert_allclose(swapped.inclusion, found.inclusion, atol=0.03)
    assert list(found.means().columns) == ["a", "b"]
    assert "expected to differ" in repr(found)


@pytest.mark.filterwarnings("ignore:stopped by time budget:mrfbayes.MRFWarning")
def test_interrupted_comparison_without_draws_is_silent():
    model, _, data = some_groups()
    with pytest.warns(mb.MRFWarning, match="the probabilities are not defined"):
        found = mb.compare_groups(model, data, draws=2_000, thin=50000, warmup=10**8, seconds=0.5, progress=False)
    assert found.partial
    assert found.summary().drop(columns=["verdict", "fragile"]).isna().all(axis=None)


def test_three_groups_have_one_indicator_and_an_interval_for_every_pair():
    model, statistics, data = some_groups(d=3, n=(100, 150, 200), seed=6)
    inclusion, error = exact_differences(model, statistics, data)
    found = mb.compare_groups(model, data, **FAST)
    z = np.abs(found.inclusion - inclusion) / np.hypot(np.maximum(found.inclusion_error, 1e-4), error)
    assert z.max() < 5, z
    assert (np.abs(np.where(inclusion > 0.5, -0.05, 0.05)) / np.hypot(found.inclusion_error, error)).max() > 5
    table = found.summary()
    assert [name for name in table.columns if name.startswith("mean")] == ["mean[b - a]", "mean[c - a]", "mean[c - b]"]
    np.testing.assert_allclose(table["mean[c - a]"] - table["mean[b - a]"], table["mean[c - b]"], atol=1e-9)
    is_there = (found.coordinates[..., 1:, : model.n_edges] != 0).all(axis=2)
    np.testing.assert_allclose(is_there.mean(axis=(0, 1)), found.inclusion, atol=0.05)
    with pytest.raises(mb.InputError, match="with 3 groups only a normal slab"):
        mb.compare_groups(model, data, slab="cauchy(0, 1)", progress=False)


@SHORT_RUNS
def test_a_column_an_array_and_a_mapping_say_the_same():
    import pandas as pd

    model, _, data = some_groups(d=3)
    rows, labels = np.concatenate(list(data.values())), np.repeat(["a", "b"], [150, 250])
    short = {"draws": 50, "chains": 1, "progress": False}
    one = mb.compare_groups(model, data, **short)
    two = mb.compare_groups(model, mb.Data(rows, group=labels), **short)
    table = pd.DataFrame(rows, columns=model.nodes)
    table.insert(1, "who", labels)
    three = mb.compare_groups(model, mb.Data(table, group="who"), **short)
    assert one.groups == two.groups == three.groups == ("a", "b")
    np.testing.assert_array_equal(one.coordinates, two.coordinates)
    np.testing.assert_array_equal(one.coordinates, three.coordinates)
    both = mb.compare_groups(model, data, slab={"edges": "normal(0, 1)", "nodes": "normal(0, 1)"}, **short)
    np.testing.assert_array_equal(one.coordinates, both.coordinates)
    narrow = mb.compare_groups(model, data, slab={"nodes": "normal(0, 0.01)"}, **short)
    assert np.abs(narrow.coordinates[:, :, 1, model.n_edges :]).max() < 0.1


@SHORT_RUNS
def test_results_come_back_from_files(tmp_path):
    model, _, data = some_groups(d=3)
    short = {"draws": 50, "chains": 2, "progress": False}
    compared = mb.compare_groups(model, data, **short)
    compared.save(tmp_path / "groups.nc")
    selected = mb.select(model, data["a"], **short)
    selected.save(tmp_path / "graphs.nc")
    for path, result in (("groups.nc", compared), ("graphs.nc", selected)):
        back = mb.load(tmp_path / path)
        assert type(back) is type(result)
        assert back.model.fingerprint == model.fingerprint
        assert (back.settings, back.warnings, back.steps) == (dict(result.settings), result.warnings, 50)
        with pytest.raises(mb.InputError, match="exists"):
            result.save(tmp_path / path)
    assert mb.load(tmp_path / "groups.nc").summary().equals(compared.summary())
    assert mb.load(tmp_path / "graphs.nc").edges().equals(selected.edges())
    torn = tmp_path / "torn.nc"
    torn.write_bytes((tmp_path / "graphs.nc").read_bytes()[:-40])
    with pytest.raises(mb.InputError, match=r"damaged|not a result"):
        mb.load(torn)


@SHORT_RUNS
def test_categories_that_a_group_lacks_are_kept_and_named():
    model, _, x = case(3, "score", True, 3, n=60)
    lacking = x.copy()
    lacking[lacking == 2] = 1
    found = mb.compare_groups(model, {"a": x, "b": lacking}, draws=20, chains=1, progress=False)
    assert np.isfinite(found.coordinate_mean).all()
    notes = [text for text in found.notes if text.startswith("group")]
    assert len(notes) == 1
    assert "'b'" in notes[0]
    assert "state 2 of '0'" in notes[0]


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        ({"a": np.zeros((5, 3), int)}, {}, "data has 1 group"),
        (np.zeros((5, 3), int), {}, "data is a ndarray"),
        (mb.Data(np.zeros((5, 3), int)), {}, "no groups"),
        (mb.Data(np.zeros((5, 3), int), group=[1, 2]), {}, "group has 2 entries"),
        ({"a": np.eye(3, dtype=int), "b": np.eye(3, dtype=int)}, {"slab": "normal(1, 1)"}, "centred at zero"),
        ({"a": np.eye(3, dtype=int), "b": np.eye(3, dtype=int)}, {"differences": "often"}, "differences = 'often'"),
        (
            {"a": np.eye(3, dtype=int), "b": np.eye(3, dtype=int)},
            {"slab": {"0--1": "normal(0, 1)"}},
            "slab has an entry",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_reason(x, options, message):
    with pytest.raises(mb.InputError, match=message):
        mb.compare_groups(complete(3, fields=True, coupling="both-one"), x, progress=False, **options)


def test_pairwise_differences_have_the_slab_as_their_prior():
    from mrfbayes.structure.groups import simplex

    for n_groups in (2, 3, 5):
        corners = simplex(n_groups)
        np.testing.assert_allclose(corners.sum(axis=0), 0, atol=1e-12)
        for g, h in itertools.combinations(range(n_groups), 2):
            assert np.linalg.norm(corners[g] - corners[h]) == pytest.approx(1.0)


def test_one_prior_is_that_of_the_couplings():
    """As in `sample`: thresholds keep their wide default; only "uniform" is for all parameters."""
    model = mb.graph([("a", "b"), ("b", "c")], fields=True, coupling="both-one")
    prior = group_coordinates(model, 2, "normal(0, 1)", "normal(0, 1)").priors[0]
    assert prior.digest == Prior(model, "normal(0, 1)").digest
    assert set(map(str, prior.per_block)) == {"normal(0, 1)", "normal(0, 10)"}
    assert group_coordinates(model, 2, "normal(0, 1)", "uniform").priors[0].is_uniform
    with pytest.raises(mb.InputError, match=r"prior = 'normal\(0, 2\)'.*nodes"):
        mb.select(model, np.zeros((4, 3), dtype=int), prior="normal(0, 2)", progress=False)


@SHORT_RUNS
@pytest.mark.parametrize("shared", [60, 5])
def test_groups_of_the_same_people_are_refused(shared):
    """Before and after of the same people: their numbers occur in both groups."""
    rng = np.random.default_rng(2)
    person = np.concatenate([np.arange(60), np.arange(60) + 60 - shared])
    table = {"person": person, "a": rng.integers(0, 2, 120), "b": rng.integers(0, 2, 120)}
    data = mb.Data({**table, "when": ["before"] * 60 + ["after"] * 60}, drop=["person"], group="when")
    model, run = mb.Model.from_data(data), {"draws": 20, "chains": 1, "progress": False}
    if shared == 60:
        with pytest.raises(mb.InputError, match=r"60 values of 'person'.*'after'.*'before'"):
            mb.compare_groups(model, data, **run)
    else:
        assert mb.compare_groups(model, data, **run).groups == ("after", "before")


@SHORT_RUNS
@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_groups_whose_items_have_unequal_levels():
    rng = np.random.default_rng(3)
    a = rng.integers(1, 6, 80)
    b = rng.integers(1, 6, 80)
    a[40:] = np.minimum(a[40:], 4)  # the second group never answers 5
    table = {"a": a, "b": b, "c": rng.integers(0, 2, 80), "who": ["x"] * 40 + ["y"] * 40}
    data = mb.Data(table, group="who")
    run = {"draws": 50, "chains": 1, "progress": False}
    found = mb.compare_groups(mb.Model.from_data(data), data, **run)
    assert found.model.states.tolist() == [5, 5, 2]
    parts = {
        name: mb.Data({key: np.array(table[key])[part] for key in "abc"})
        for name, part in (("x", slice(40)), ("y", slice(40, None)))
    }
    again = mb.compare_groups(found.model, parts, **run)
    np.testing.assert_array_equal(again.coordinates, found.coordinates)


def test_a_difference_is_the_second_group_less_the_first():
    table = compared(("low", "high")).summary()
    np.testing.assert_allclose(table["mean"], 3.0)  # (1 + 1/2) times the contrast of 2
    np.testing.assert_allclose(table["sd"], 1.5 * 0.25)
    np.testing.assert_allclose(table["q5"], 1.5 * np.quantile([1, 2, 3], 0.05))
    np.testing.assert_allclose(table["q95"], 1.5 * np.quantile([1, 2, 3], 0.95))
    means = compared(("low", "high")).means()
    np.testing.assert_allclose(means["high"] - means["low"], table["mean"])


def test_the_names_of_more_groups_say_which_is_taken_from_which():
    found = compared(("x", "y", "z"))
    table, means = found.summary(), found.means()
    for first, second in itertools.combinations("xyz", 2):
        np.testing.assert_allclose(table[f"mean[{second} - {first}]"], means[second] - means[first], atol=1e-12)
