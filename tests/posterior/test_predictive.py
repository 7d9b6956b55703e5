"""Predictive checks pass where the model is right and fail where it is not."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.posterior.predictive import predictive_check, second_neighbours

GRID = mb.grid(3, 3)


@pytest.fixture(scope="module")
def data():
    theta = np.random.default_rng(4).uniform(0.3, 0.85, GRID.n_parameters)
    return mb.simulate(GRID, theta, 400, sampler="exact", rng=4)


def posterior_of(model, x):
    return mb.sample(model, x, "exact", engine="mh", steps=20_000, warmup=8_000, chains=2, progress=False)


def test_the_right_model_reproduces_its_data(data):
    check = predictive_check(posterior_of(GRID, data), data, replicates=100, progress=False)
    assert (check.table["p_value"] > 0.02).all()
    assert list(check.table.index[: GRID.n_parameters]) == list(GRID.parameters)


def test_a_model_with_one_coupling_for_all_does_not(data):
    tied = mb.grid(3, 3, tied=True)
    check = predictive_check(posterior_of(tied, data), data, replicates=100, progress=False)
    apart = check.table[~check.table["fitted"]]
    assert apart["p_value"].min() <= 2 / 101 + 1e-12  # as small as 100 replicates can show


def test_second_neighbours_of_a_square():
    assert second_neighbours(mb.grid(2, 2).edges, 4).tolist() == [[0, 3], [1, 2]]


def test_other_data_are_refused(data):
    posterior = posterior_of(GRID, data)
    with pytest.raises(mb.InputError, match="not the data"):
        predictive_check(posterior, data[:50])
    with pytest.raises(mb.InputError, match="replicates = 3"):
        predictive_check(posterior, data, replicates=3)


@pytest.mark.filterwarnings("ignore::mrfbayes.base.errors.MRFWarning")
def test_labels_are_kept_with_the_result_and_used_again(data, tmp_path):
    words = np.array(["small", "tall"], dtype=object)[data]
    settings = {"engine": "mh", "steps": 2_000, "warmup": 1_000, "chains": 2, "progress": False}
    posterior = mb.sample(GRID, words, "exact", levels="small<tall", **settings)
    assert posterior.settings["levels"] == [{"nodes": None, "labels": ["small", "tall"]}]
    np.testing.assert_array_equal(posterior.draws, mb.sample(GRID, data, "exact", **settings).draws)
    posterior.save(tmp_path / "words.nc")
    loaded = mb.load(tmp_path / "words.nc")
    assert loaded.settings["levels"] == posterior.settings["levels"]
    assert len(predictive_check(loaded, words, replicates=20, progress=False).replicates) == 20
    with pytest.raises(mb.InputError, match="unknown label 0; the model was fitted to 'small', 'tall'"):
        predictive_check(posterior, data, replicates=20)


@pytest.mark.filterwarnings("ignore::mrfbayes.base.errors.MRFWarning")
def test_dense_fields_go_by_chains_that_go_on():
    """The same check whether every data set is simulated anew or the chains of the last one go on."""
    from mrfbayes.base.random_streams import seed_sequence
    from mrfbayes.posterior.predictive import _simulated, _simulated_densely

    model = mb.graph([(i, j) for i in range(6) for j in range(i + 1, 6)], fields=True, coupling="both-one")
    rng = np.random.default_rng(2)
    theta = model.chart.theta(0.4 * rng.normal(size=(60, model.n_parameters)))
    anew, on = (
        np.array([mb.count(model, y).mean for y in simulated(model, theta, 2_000, seed_sequence(1))])
        for simulated in (_simulated, _simulated_densely)
    )
    noise = np.sqrt(2 * anew * (1 - anew) / 2_000)
    z = (on - anew) / noise
    assert 0.7 < z.std() < 1.3
    assert np.abs(z).max() < 6.5  # 1,260 standard normal numbers
    # Negative control: data sets of other draws differ.
    assert np.abs((on[1:] - anew[:-1]) / noise[1:]).max() > 6.5
