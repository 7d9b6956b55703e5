"""What every kind of result has: attributes, tables, files, pictures, ArviZ groups."""

import inspect
import warnings

import matplotlib as mpl
import numpy as np
import pytest

import mrfbayes as mb

mpl.use("Agg")
MODEL = mb.graph([("a", "b"), ("b", "c")], fields=True, coupling="both-one")
X = np.random.default_rng(1).integers(0, 2, (80, 3))
X[:50, 1] = X[:50, 0]
NAMED = {name: X[:, k] for k, name in enumerate("abc")}
ATTRIBUTES = (
    *("model", "schema", "n", "method", "target", "settings", "seed", "warnings", "notes", "partial", "timings"),
    "versions",
)
METHODS = ("summary", "edges", "plot", "report", "save", "to_arviz", "_repr_html_")
KINDS = ("Posterior", "Selection", "GroupComparison", "Fit", "Fits", "Estimate", "Segmentation")
SAMPLED = ("Posterior", "Selection", "GroupComparison")


@pytest.fixture(scope="module")
def results():
    """One of each kind."""
    run = {"draws": 150, "chains": 2, "rng": 5, "progress": False}
    image = np.repeat([[0.0, 0.0, 1.0, 1.0]], 4, axis=0) + np.random.default_rng(2).normal(0, 0.2, (4, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)  # short chains
        return {
            "Posterior": mb.sample(MODEL, X, "exact", **run),
            "Selection": mb.select(MODEL, X, **run),
            "GroupComparison": mb.compare_groups(MODEL, {"u": X[:40], "v": X[40:]}, **run),
            "Fit": mb.fit(NAMED, select=True, **run),
            "Fits": mb.sample_many(MODEL, {"u": X[:40], "v": X[40:]}, method="mle", **run),
            "Estimate": mb.estimate(MODEL, X, rng=5),
            "Segmentation": mb.segment(image, states=2, draws=40, chains=2, rng=5, progress=False),
        }


def test_every_public_kind_has_the_methods_of_result():
    """Kinds may add arguments of their own; those of `Result` are the same everywhere."""
    classes = [value for name in mb.__all__ if isinstance(value := getattr(mb, name), type)]
    kinds = [kind for kind in classes if issubclass(kind, mb.Result) and kind is not mb.Result]
    assert {kind.__name__ for kind in kinds} == {*KINDS, "EffectSelection"}
    for kind in kinds:
        for name in METHODS:
            expected = inspect.signature(getattr(mb.Result, name)).parameters
            found = inspect.signature(getattr(kind, name)).parameters
            for argument, one in expected.items():
                assert (found[argument].kind, found[argument].default) == (one.kind, one.default), (kind, name)


def test_every_kind_has_the_same_attributes(results):
    for kind, result in results.items():
        assert type(result).__name__ == kind
        assert isinstance(result, mb.Result)
        for name in ATTRIBUTES:
            assert getattr(result, name) is not None or name == "seed", (kind, name)
        assert set(result.timings) == {"prepare", "compile", "run"}, kind
        assert "mrfbayes" in result.versions
        assert result._repr_html_().startswith("<")
        assert kind in repr(result)


def test_tables_take_scale_and_interval(results):
    for kind, result in results.items():
        for table in [result.summary, result.edges] if kind != "Segmentation" else [result.summary]:
            found = table(scale="log-odds", ci_prob=0.8)
            assert len(found)
            if kind != "Estimate":
                assert {"q10", "q90"} <= set(found.columns), kind
            with pytest.raises(TypeError):
                table("log-odds")
    with pytest.raises(mb.InputError, match="edges"):
        results["Segmentation"].edges()


def test_diagnostics_stand_beside_every_sampled_number(results):
    for kind in SAMPLED:
        assert {"mcse_mean", "ess_bulk", "ess_tail", "r_hat"} <= set(results[kind].summary().columns)
    for kind in SAMPLED[1:]:
        table = results[kind].edges()
        assert {"inclusion_error", "inclusion_ess", "inclusion_r_hat", "log_bf10_error"} <= set(table.columns)


def test_diagnostics_of_inclusion_are_those_of_the_draws(results):
    from arviz_stats.base import array_stats

    found = results["Selection"]
    drawn = found.included[..., 1].astype(float)
    expected = array_stats.rhat(drawn, chain_axis=0, draw_axis=1)
    np.testing.assert_allclose(found.edges()["inclusion_r_hat"].iloc[1], expected, rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_result_comes_back(results, tmp_path, kind):
    result = results[kind]
    result.save(tmp_path / "saved")
    with pytest.raises(mb.InputError, match=r"overwrite"):
        result.save(tmp_path / "saved")
    again = mb.load(tmp_path / "saved")
    assert type(again) is type(result)
    assert again.summary().equals(result.summary())
    for name in ("n", "method", "target", "seed", "warnings", "partial"):
        assert repr(getattr(again, name)) == repr(getattr(result, name)), name
    assert again.schema == result.schema


def test_the_seed_of_a_result_repeats_it(results):
    first = mb.sample(MODEL, X, "mle", draws=20, rng=None, progress=False)
    assert isinstance(first.seed, int)
    again = mb.sample(MODEL, X, "mle", draws=20, rng=first.seed, progress=False)
    np.testing.assert_array_equal(again.draws, first.draws)
    part = results["Fits"]["u"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)  # of few rows
        again = mb.sample(MODEL, X[:40], "mle", draws=150, chains=2, rng=part.seed, progress=False)
    np.testing.assert_array_equal(again.draws, part.draws)


def test_arviz_has_its_own_names(results):
    tree = results["Posterior"].to_arviz()
    assert set(tree.children) == {"posterior", "sample_stats", "observed_data", "log_likelihood"}
    assert set(tree["sample_stats"].data_vars) == {"lp", "acceptance_rate"}
    target = mb.target(MODEL, X)
    drawn = results["Posterior"].log_odds
    expected = target.log_density(drawn[0, 3]) - target.log_density(drawn[1, 7])
    lp = tree["sample_stats"]["lp"].values
    assert lp[0, 3] - lp[1, 7] == pytest.approx(expected, abs=1e-8)
    assert set(results["Selection"].to_arviz()["posterior"].data_vars) == {"log_odds", "included"}
    with pytest.raises(mb.InputError, match="to_arviz"):
        results["Estimate"].to_arviz()


def test_pictures_and_reports(results, tmp_path):
    for kind in ("Posterior", "Selection", "GroupComparison", "Fit", "Estimate", "Segmentation"):
        assert results[kind].plot() is not None
    with pytest.raises(mb.InputError, match=r"kind = 'cake'.*'forest'"):
        results["Posterior"].plot("cake")
    with pytest.raises(mb.InputError, match="plot"):
        results["Fits"].plot()
    for kind in ("Posterior", "Selection", "GroupComparison", "Fit"):
        page = results[kind].report(tmp_path / f"{kind}.html", title="A title")
        assert "A title" in page.read_text(encoding="utf-8")
    for kind in ("Estimate", "Segmentation", "Fits"):
        with pytest.raises(mb.InputError, match="report"):
            results[kind].report(tmp_path / "no.html")
