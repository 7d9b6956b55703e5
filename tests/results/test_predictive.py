"""Predictive checks pass where the model is right and fail where it is not."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.results import predictive
from mrfbayes.results.predictive import affordable_replicates, predictive_check, second_neighbours, sum_bounds

GRID = mb.grid(3, 3)


@pytest.fixture(scope="module")
def data():
    theta = np.random.default_rng(4).uniform(0.3, 0.85, GRID.n_parameters)
    return mb.simulate(GRID, theta, 400, sampler="exact", rng=4)


def posterior_of(model, x):
    return mb.sample(model, x, "exact", engine="mh", draws=2_000, thin=10, warmup=8_000, chains=2, progress=False)


def test_the_right_model_reproduces_its_data(data):
    check = predictive_check(posterior_of(GRID, data), data, replicates=100, progress=False)
    assert (check.table["p_value"] > 0.02).all()
    assert list(check.table.index[: GRID.n_parameters]) == list(GRID.parameters)


def test_a_single_image_can_fail():
    """Stripes: rows are alike, columns alternate, which one coupling for both directions cannot say."""
    image = np.tile(np.arange(12) % 2, 12)[None]
    flips = np.random.default_rng(1).random(image.shape) < 0.05
    model = mb.grid(12, 12, tied=True)
    posterior = mb.sample(model, image ^ flips, "pseudo", draws=500, progress=False)
    table = predictive_check(posterior, replicates=200, progress=False).table
    assert list(table.index[1:]) == [
        *(f"agreement at {at}" for at in ("(0, 2)", "(1, -1)", "(1, 1)", "(2, 0)")),
        "mean state",
    ]
    assert table.loc["agreement at (0, 2)", "p_value"] < 0.01
    assert table.loc["edges", "p_value"] > 0.01


def test_a_model_with_one_coupling_for_all_does_not(data):
    tied = mb.grid(3, 3, tied=True)
    check = predictive_check(posterior_of(tied, data), data, replicates=100, progress=False)
    apart = check.table[~check.table["fitted"]]
    assert apart["p_value"].min() <= 2 / 101 + 1e-12  # as small as 100 replicates can show


def test_second_neighbours_of_a_square():
    assert second_neighbours(mb.grid(2, 2).edges, 4).tolist() == [[0, 3], [1, 2]]


def slow_second_neighbours(edges, n_nodes):
    """Every pair of nodes, one after the other."""
    near = [{int(b) for a, b in [*edges, *edges[:, ::-1]] if a == i} for i in range(n_nodes)]
    pairs = [(a, b) for a in range(n_nodes) for b in range(a + 1, n_nodes)]
    return [[a, b] for a, b in pairs if b not in near[a] and near[a] & near[b]]


def test_second_neighbours_are_those_of_the_slow_way():
    rng = np.random.default_rng(3)
    pairs = np.array([(a, b) for a in range(9) for b in range(a + 1, 9)])
    for _ in range(5):
        edges = pairs[rng.random(len(pairs)) < 0.3]
        assert second_neighbours(edges, 9).tolist() == slow_second_neighbours(edges, 9)
    assert second_neighbours(pairs, 9).shape == (0, 2)


def test_chains_that_go_on_replicate_as_independent_draws_do(data, monkeypatch):
    posterior = posterior_of(GRID, data)
    independent = predictive_check(posterior, replicates=400, progress=False)
    monkeypatch.setattr(predictive, "predicted_seconds", lambda *_: float("inf"))
    going_on = predictive_check(posterior, replicates=400, progress=False)
    error = np.hypot(independent.table["replicated_sd"], going_on.table["replicated_sd"]) / np.sqrt(400)
    z = (independent.table["replicated"] - going_on.table["replicated"]) / error
    # replicates of chains that go on are somewhat alike: six sds, not five
    assert np.abs(z).max() < 6
    assert np.abs(independent.table["replicated_sd"] / going_on.table["replicated_sd"] - 1).max() < 0.3
    monkeypatch.setattr(predictive, "FIRST_SWEEPS", 0)
    monkeypatch.setattr(predictive, "REPLICA_SWEEPS", 0)  # the negative control: chains that stay at their random start
    stuck = predictive_check(posterior, replicates=400, progress=False)
    assert (np.abs(stuck.table["replicated"] - independent.table["replicated"]) / error).max() > 20


def test_sums_of_rows_show_what_pairs_cannot():
    names = list("abcdef")
    model = mb.graph([(u, v) for i, u in enumerate(names) for v in names[i + 1 :]], fields=True, coupling="both-one")
    rng = np.random.default_rng(5)
    x = (rng.random((600, 6)) < 0.5).astype(np.uint8)
    x[:, 5] = x[:, :5].sum(axis=1) % 2  # rows have even sums: every pair is independent
    posterior = mb.sample(model, x, "exact", draws=1_000, progress=False)
    table = predictive_check(posterior, replicates=200, progress=False).table
    assert (table.loc[table["fitted"], "p_value"] > 0.01).all()
    assert list(table.index[-7:]) == [f"sum {k}" for k in range(7)]
    assert table.loc["sum 3", "observed"] == 0
    assert table.loc["sum 3", "p_value"] < 0.01
    assert sum_bounds(mb.grid(5, 5)).tolist() == [*range(0, 26, 2), 26]


def test_a_loaded_result_is_checked_as_before_it_was_saved(data, tmp_path):
    posterior = posterior_of(GRID, data)
    before = posterior.predictability()
    posterior.save(tmp_path / "a.nc")
    loaded = mb.load(tmp_path / "a.nc")
    assert not len(loaded._problem.statistics.rows)  # nobody's answers are in a file
    ways = [predictive_check(post, replicates=20, progress=False).table for post in (posterior, loaded)]
    assert ways[0].equals(ways[1])
    assert predictive_check(posterior, data, replicates=20, progress=False).table.equals(ways[0])
    assert len(ways[0]) > GRID.n_parameters + 8
    assert loaded.predictability().equals(before)
    with pytest.raises(mb.InputError, match="predictability needs observations"):
        loaded.predictability(draws=100)


def test_a_check_takes_as_many_replicates_as_seconds_allow():
    assert affordable_replicates(GRID, 400) == 400
    assert affordable_replicates(mb.grid(100, 101), 200) == 200
    assert affordable_replicates(mb.grid(300, 300), 5_000) == 0


def test_other_data_are_refused(data):
    posterior = posterior_of(GRID, data)
    with pytest.raises(mb.InputError, match="not the data"):
        predictive_check(posterior, data[:50])
    with pytest.raises(mb.InputError, match="replicates = 3"):
        predictive_check(posterior, data, replicates=3)


@pytest.mark.filterwarnings("ignore::mrfbayes.base.errors.MRFWarning")
def test_labels_are_kept_with_the_result_and_used_again(data, tmp_path):
    words = np.array(["small", "tall"], dtype=object)[data]
    settings = {"engine": "mh", "draws": 2_000, "warmup": 1_000, "chains": 2, "progress": False}
    posterior = mb.sample(GRID, mb.Data(words, levels="small<tall"), "exact", **settings)
    assert {variable.labels for variable in posterior.schema} == {("small", "tall")}
    np.testing.assert_array_equal(posterior.draws, mb.sample(GRID, data, "exact", **settings).draws)
    posterior.save(tmp_path / "words.nc")
    loaded = mb.load(tmp_path / "words.nc")
    assert loaded.schema == posterior.schema
    assert len(predictive_check(loaded, words, replicates=20, progress=False).replicates) == 20
    with pytest.raises(mb.InputError, match="is coded by 'small', 'tall'"):
        predictive_check(posterior, data, replicates=20)


@pytest.mark.filterwarnings("ignore::mrfbayes.base.errors.MRFWarning")
def test_dense_fields_go_by_chains_that_go_on():
    """The same check whether every data set is simulated anew or the chains of the last one go on."""
    from mrfbayes.base.random_streams import seed_sequence
    from mrfbayes.results.predictive import _simulated, _simulated_densely

    model = mb.graph([(i, j) for i in range(6) for j in range(i + 1, 6)], fields=True, coupling="both-one")
    rng = np.random.default_rng(2)
    theta = model.chart.theta(0.4 * rng.normal(size=(60, model.n_parameters)))
    anew, on = (
        np.array([mb.Data(y).count(model).mean for y in simulated(model, theta, 2_000, seed_sequence(1))])
        for simulated in (_simulated, _simulated_densely)
    )
    noise = np.sqrt(2 * anew * (1 - anew) / 2_000)
    z = (on - anew) / noise
    assert 0.7 < z.std() < 1.3
    assert np.abs(z).max() < 6.5  # 1,260 standard normal numbers
    # Negative control: data sets of other draws differ.
    assert np.abs((on[1:] - anew[:-1]) / noise[1:]).max() > 6.5


@pytest.mark.parametrize(("observed", "p_value"), [(2.5, 0.6), (7.5, 0.6), (0.0, 0.2), (10.0, 0.2), (5.0, 1.0)])
def test_a_p_value_is_twice_the_smaller_tail(observed, p_value):
    """Nine replicates 1..9 and the observation itself: of 2.5, three of ten are at most as large."""
    replicates = np.arange(1.0, 10.0)[:, None]
    table = predictive._table(mb.graph([(0, 1)]), ["edges"], np.full((1, 1), observed), replicates)
    assert table.loc["edges", "p_value"] == pytest.approx(p_value)


def test_checks_are_made_at_draws_whose_theta_rounds_to_one():
    model = mb.graph([("a", "b"), ("b", "c")], fields=True, coupling="both-one")
    with pytest.warns(mb.MRFWarning, match="every column is constant"):
        posterior = mb.sample(model, [[1, np.nan, 1], [1, 1, 1]], "exact", rng=1, progress=False)
    assert (posterior.draws == 1).any()
    found = mb.predictive_check(posterior, replicates=100, rng=1, progress=False)
    assert found.table["p_value"].notna().all()
