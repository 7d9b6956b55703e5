"""Fields with covariates against enumeration: likelihoods, posteriors, effects, the map with a covariate per cell."""

import itertools

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb

D = 4
PAIRS = list(itertools.combinations(range(D), 2))
STATES = np.array(list(itertools.product([0, 1], repeat=D)))


def log_weights(coupling, threshold):
    """Of all configurations, for couplings x_u x_v."""
    pair = np.array([STATES[:, u] * STATES[:, v] for u, v in PAIRS])
    return coupling @ pair + STATES @ threshold


def simulated(n=300, seed=0, moderated=0.0, levels=None):
    """Rows, covariate and truth: thresholds depend on the covariate, and so does the first coupling."""
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 10, n) if levels is None else rng.choice(levels, n)
    z = (age - age.mean()) / (2 * age.std()) if levels is None or len(levels) > 2 else age - np.mean(levels)
    coupling, threshold, slope = rng.normal(0, 0.6, len(PAIRS)), rng.normal(-0.3, 0.4, D), rng.normal(0, 1, D)
    rows = np.empty((n, D), int)
    for r in range(n):
        moved = coupling + moderated * z[r] * (np.arange(len(PAIRS)) == 0)
        logs = log_weights(moved, threshold + slope * z[r])
        p = np.exp(logs - logs.max())
        rows[r] = STATES[rng.choice(len(STATES), p=p / p.sum())]
    return rows, age, z, np.concatenate([coupling, threshold, slope])


def table(rows, **more):
    return {f"q{i}": rows[:, i] for i in range(rows.shape[1])} | more


def test_exact_likelihood_is_the_sum_over_rows():
    rows, age, z, truth = simulated(60)
    data = mb.Data(table(rows, age=age), covariates=["age"])
    model = mb.Model.from_data(data, covariates="thresholds")
    assert model.parameters[-2:] == ("q2:age", "q3:age")
    target = mb.target(model, data, prior="uniform")
    other = truth + 0.1

    def likelihood(w):
        coupling, threshold, slope = np.split(w, [len(PAIRS), len(PAIRS) + D])
        total = 0.0
        for x, value in zip(rows, z, strict=True):
            logs = log_weights(coupling, threshold + slope * value)
            place = int(np.flatnonzero((x == STATES).all(axis=1))[0])
            total += logs[place] - np.logaddexp.reduce(logs)
        return total

    def prior(w):
        return np.sum(w - 2 * np.logaddexp(0, w))

    expected = likelihood(truth) + prior(truth) - likelihood(other) - prior(other)
    assert target.log_density(truth) - target.log_density(other) == pytest.approx(expected, abs=1e-8)
    wrong = mb.target(model, mb.Data(table(rows, age=age[::-1]), covariates=["age"]), prior="uniform")
    assert abs(wrong.log_density(truth) - wrong.log_density(other) - expected) > 0.1
    slope = target.value_and_gradient(truth)[1]
    for j in range(truth.size):
        step = 1e-5 * (np.arange(truth.size) == j)
        difference = (target.log_density(truth + step) - target.log_density(truth - step)) / 2e-5
        assert slope[j] == pytest.approx(difference, abs=1e-4)


def test_three_methods_agree():
    rows, age, _, truth = simulated(300, seed=1, levels=np.arange(20, 60, 4))
    data = mb.Data(table(rows, age=age), covariates=["age"])
    model = mb.Model.from_data(data, covariates="thresholds")
    exact = mb.sample(model, data, "exact", rng=1, progress=False)
    w = exact.log_odds
    sd, mean = w.std(axis=(0, 1)), w.mean(axis=(0, 1))
    assert (np.abs(mean - truth) / sd).max() < 4.5
    assert (np.abs(mean + truth) / sd)[-D:].max() > 4.5  # effects of the other sign are refuted
    langevin = mb.sample(model, data, "langevin", rng=1, progress=False, draws=300, thin=2).log_odds
    assert np.abs((langevin.mean(axis=(0, 1)) - mean) / sd).max() < 0.12
    assert np.abs(langevin.std(axis=(0, 1)) / sd - 1).max() < 0.1
    pseudo = mb.sample(model, data, "pseudo", rng=1, progress=False)
    assert np.abs((pseudo.log_odds.mean(axis=(0, 1)) - mean) / sd).max() < 0.6
    assert np.abs(pseudo.log_odds.std(axis=(0, 1)) / sd - 1).max() < 0.25
    with pytest.raises(mb.InputError, match="calibrated"):
        mb.sample(model, data, "calibrated", progress=False)


def test_two_groups_are_one_covariate(tmp_path):
    rows, group, _, _ = simulated(300, seed=2, moderated=1.5, levels=[0, 1])
    data = mb.Data(table(rows, g=group), covariates=["g"])
    model = mb.Model.from_data(data, covariates="couplings")
    options = {"draws": 1_500, "thin": 2, "chains": 2, "progress": False}
    found = mb.select_effects(model, data, rng=1, **options)
    grouped = mb.Data(table(rows, g=group), group="g")
    compared = mb.compare_groups(mb.Model.from_data(grouped), grouped, rng=2, **options)
    error = np.hypot(np.maximum(found.inclusion_error, 1e-4), compared.inclusion_error)
    assert (np.abs(found.inclusion - compared.inclusion) / error).max() < 5
    assert (np.abs(np.clip(found.inclusion + 0.05, 0, 1) - compared.inclusion) / error).max() > 5
    effects, differences = found.summary(), compared.summary()
    np.testing.assert_allclose(effects["mean"], differences["mean"], atol=0.05)
    assert list(effects.index[:1]) == ["q0--q1:g"]
    assert "moderated" in repr(found)
    found.save(tmp_path / "effects.nc")
    back = mb.load(tmp_path / "effects.nc")
    pd.testing.assert_frame_equal(back.summary(), effects)
    assert (back.method, back.covariates, back.notes) == ("select_effects", ("g",), found.notes)
    assert back.schema == found.schema


def test_effects_and_the_field_at_given_values(tmp_path):
    rows, age, _, _ = simulated(200, seed=3, levels=[20, 30, 40, 50])
    data = mb.Data(table(rows, age=age), covariates=["age"])
    model = mb.Model.from_data(data, covariates="couplings")
    post = mb.sample(model, data, "exact", rng=1, progress=False, draws=300)
    effects = post.effects()
    assert list(effects.index) == list(model.parameters[model.field.n_parameters :])
    scale = 2 * age.std()
    np.testing.assert_allclose(effects["per_unit"], effects["mean"] / scale)
    older, younger = post.at(age=50), post.at(age=20)
    assert older.model is model.field
    difference = (older.log_odds - younger.log_odds).mean(axis=(0, 1))
    np.testing.assert_allclose(difference, effects["mean"].to_numpy() * 30 / scale, rtol=1e-9)
    assert older.predictability(rows).shape[0] == D
    post.save(tmp_path / "post.nc")
    back = mb.load(tmp_path / "post.nc")
    assert back.model.fingerprint == model.fingerprint
    np.testing.assert_array_equal(back.draws, post.draws)
    pd.testing.assert_frame_equal(back.effects(), effects)
    pd.testing.assert_frame_equal(back.summary(), post.summary())
    pd.testing.assert_frame_equal(back.edges(), post.edges())
    np.testing.assert_array_equal(back.at(age=50).draws, older.draws)
    assert (back.settings, back.warnings, back.notes) == (dict(post.settings), post.warnings, post.notes)
    with pytest.raises(mb.InputError, match="needs the data"):
        back.explained()
    older.save(tmp_path / "older.nc")
    assert mb.load(tmp_path / "older.nc").parameters == older.parameters
    with pytest.raises(mb.InputError, match="covariates"):
        mb.evidence(model, data)
    with pytest.raises(mb.InputError, match="size"):
        post.at(size=3)
    with pytest.raises(mb.InputError, match="covariates"):
        post.predictability(rows)
    explained = post.explained()
    assert list(explained.index) == list(model.field.parameters[: len(PAIRS)])
    assert (explained["moderated_sd"] > 0).all()
    with pytest.raises(mb.InputError, match="no covariates"):
        older.effects()


def test_a_common_cause_explains_an_edge():
    rng = np.random.default_rng(4)
    cause = rng.normal(0, 1, 3000)
    rows = (rng.random((3000, 2)) < 1 / (1 + np.exp(-2 * cause))[:, None]).astype(int)
    data = mb.Data(table(rows, cause=cause), covariates=["cause"])
    model = mb.Model.from_data(data, covariates="thresholds")
    found = mb.sample(model, data, "pseudo", rng=1, progress=False, draws=300).explained()
    assert found.loc["q0--q1", "without"] > 5 * found.loc["q0--q1", "without_se"]
    assert found.loc["q0--q1", "explained"] > 0.75


def test_an_offset_is_added_to_the_log_odds():
    rng = np.random.default_rng(5)
    exposure = rng.normal(0, 1.5, 2000)
    rows = (rng.random((2000, 2)) < 1 / (1 + np.exp(0.5 - exposure))[:, None]).astype(int)
    z = rng.normal(size=2000)
    data = mb.Data(table(rows, z=z, exposure=exposure), covariates=["z", "exposure"])
    model = mb.Model.from_data(data, covariates="thresholds", offset="exposure")
    assert model.parameters == ("q0--q1", "q0", "q1", "q0:z", "q1:z")
    w = mb.sample(model, data, "pseudo", rng=1, progress=False, draws=300).log_odds
    mean, sd = w.mean(axis=(0, 1)), w.std(axis=(0, 1))
    assert (np.abs(mean - [0, -0.5, -0.5, 0, 0]) / sd).max() < 4.5
    without = mb.Data(table(rows, z=z), covariates=["z"])
    moved = mb.sample(
        mb.Model.from_data(without, covariates="thresholds"), without, "pseudo", progress=False, draws=300
    )
    assert moved.log_odds.mean(axis=(0, 1))[0] > 5 * sd[0]


@pytest.mark.filterwarnings("ignore:2 rows have missing cells:mrfbayes.MRFWarning")
@pytest.mark.parametrize("levels", [[20, 30], None])  # None: every row has an age of its own, and lacks some variable
def test_missing_cells_are_summed_over(levels):
    rows, age, z, _ = simulated(40, seed=6, levels=levels)
    z = z if levels is None else z / 10
    full = rows.astype(float)
    full[0, 1] = full[3, 2] = full[3, 0] = np.nan
    full[4] = 1 - full[4]  # of no weight
    data = mb.Data(table(full, age=age), covariates=["age"], weights=np.arange(40) != 4)
    model = mb.Model.from_data(data, covariates="thresholds")
    target = mb.target(model, data, prior="uniform")
    rng = np.random.default_rng(0)
    w, v = rng.normal(0, 0.5, (2, model.n_parameters))

    def likelihood(w):
        coupling, threshold, slope = np.split(w, [len(PAIRS), len(PAIRS) + D])
        total = np.sum(w - 2 * np.logaddexp(0, w))
        for x, value in zip(np.delete(full, 4, 0), np.delete(z, 4), strict=True):
            logs = log_weights(coupling, threshold + slope * value)
            fits = ((x == STATES) | np.isnan(x)).all(axis=1)
            total += np.logaddexp.reduce(logs[fits]) - np.logaddexp.reduce(logs)
        return total

    assert target.log_density(w) - target.log_density(v) == pytest.approx(likelihood(w) - likelihood(v), abs=1e-8)


@pytest.mark.filterwarnings("ignore:3 rows have missing cells:mrfbayes.MRFWarning")
def test_a_variable_without_any_observed_cell_is_refused():
    rows, age, _, _ = simulated(3, seed=6)
    full = np.where(np.arange(D) == 1, np.nan, rows)
    model = mb.Model.from_data(mb.Data(table(rows, age=age), covariates=["age"]), covariates="thresholds")
    with pytest.raises(mb.InputError, match=r"1 variable has no observed cell .*'q1'"):
        mb.target(model, mb.Data(table(full, age=age), covariates=["age"]))


def test_nominal_and_ordinal_variables_have_effects():
    rng = np.random.default_rng(7)
    n = 150
    z = rng.integers(0, 3, n).astype(float)
    town = np.array(["Bern", "Lima", "Oslo"])[np.minimum(rng.integers(0, 3, n) + (z > 1), 2)]
    data = mb.Data(
        {"town": town, "mood": rng.integers(1, 4, n), "yes": rng.integers(0, 2, n), "z": z}, covariates=["z"]
    )
    model = mb.Model.from_data(data, covariates="couplings")
    exact = mb.sample(model, data, "exact", rng=1, progress=False, draws=500)
    other = mb.sample(model, data, "langevin", rng=1, progress=False, draws=250, thin=2)
    sd = exact.log_odds.std(axis=(0, 1))
    off = (exact.log_odds.mean(axis=(0, 1)) - other.log_odds.mean(axis=(0, 1))) / sd
    assert np.abs(off).max() < 0.3, off
    assert np.sqrt(np.mean(off**2)) < 0.12


def test_a_map_with_a_covariate_per_cell():
    rng = np.random.default_rng(8)
    rows, columns = 3, 4
    height = rng.normal(0, 1, (rows, columns))
    image = (rng.random((rows, columns)) < 1 / (1 + np.exp(-height))).astype(int)
    data = mb.Data(image[None], covariates={"height": height})
    model = mb.grid(rows, columns, tied=True, fields=True).with_covariates(data)
    assert model.parameters == ("edges", "nodes", "nodes:height")
    target = mb.target(model, data, prior="uniform")
    z = (height - height.mean()) / (2 * height.std())
    every = np.array(list(itertools.product([0, 1], repeat=rows * columns))).reshape(-1, rows, columns)

    def log_density(w):
        def log_weight(x):
            agree = (x[..., 1:] == x[..., :-1]).sum(axis=(-1, -2)) + (x[..., 1:, :] == x[..., :-1, :]).sum(
                axis=(-1, -2)
            )
            return w[0] * agree + (x * (w[1] + w[2] * z)).sum(axis=(-1, -2))

        return log_weight(image) - np.logaddexp.reduce(log_weight(every)) + np.sum(w - 2 * np.logaddexp(0, w))

    point, zero = np.array([0.4, -0.2, 0.7]), np.zeros(3)
    expected = log_density(point) - log_density(zero)
    assert target.log_density(point) - target.log_density(zero) == pytest.approx(expected, abs=1e-8)
    post = mb.sample(model, data, rng=1, progress=False, draws=400)
    assert post.method == "exact"
    assert "nodes:height" in post.summary().index


def test_refusals_name_argument_and_value():
    rows, age, _, _ = simulated(20)
    data = mb.Data(table(rows, age=age), covariates=["age"])
    with pytest.raises(mb.InputError, match=r"covariates = 'age'.*model has none"):
        mb.sample(mb.Model.from_data(data), data, progress=False)
    with pytest.raises(mb.InputError, match="covariates = 'nodes'"):
        mb.Model.from_data(data, covariates="nodes")
    with pytest.raises(mb.InputError, match="the data have none"):
        mb.Model.from_data(mb.Data(table(rows)), covariates="thresholds")
    with pytest.raises(mb.InputError, match="offset = 'size'"):
        mb.Model.from_data(data, covariates="thresholds", offset="size")
    with pytest.raises(mb.InputError, match="'one' has the one value 3"):
        mb.Model.from_data(mb.Data(table(rows, one=np.full(20, 3)), covariates=["one"]), covariates="thresholds")
    gap = np.where(np.arange(20) == 4, np.nan, age)
    with pytest.raises(mb.InputError, match=r"'age' .*row 5"):
        mb.Model.from_data(mb.Data(table(rows, age=gap), covariates=["age"]), covariates="thresholds")
    model = mb.Model.from_data(data, covariates="thresholds")
    with pytest.raises(mb.InputError, match="the data lack 'age'"):
        mb.sample(model, mb.Data(table(rows, other=age), covariates=["other"]), progress=False)
    with pytest.raises(mb.InputError, match="covariates='couplings'"):
        mb.select_effects(model, data, progress=False)
    wide = np.random.default_rng(0).integers(0, 2, (2000, 12))
    data = mb.Data(table(wide, z=np.arange(2000.0)), covariates=["z"])
    with pytest.raises(mb.CostError, match="2000 distinct values"):
        mb.sample(mb.Model.from_data(data, covariates="thresholds"), data, "exact", progress=False)
