"""A fit and its folder: messages of all parts, tables, the same from its files, and what is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.fitting.result import FIT_FILES, Fit


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(4)
    a = rng.integers(0, 2, 80)
    table = {"a": a, "b": np.where(rng.random(80) < 0.8, a, 1 - a), "c": rng.integers(0, 2, 80)}
    return mb.fit(table, rng=1, progress=False, codebook={"a": "first"}, scale="log-odds")


def test_weights_are_the_means_of_the_couplings_as_a_symmetric_matrix(fitted):
    means = fitted.posterior.summary(scale="log-odds")["mean"]
    expected = pd.DataFrame(0.0, index=list("abc"), columns=list("abc"))
    for u, v in ("ab", "ac", "bc"):
        expected.loc[u, v] = expected.loc[v, u] = means[f"{u}--{v}"]
    np.testing.assert_allclose(fitted.weights().loc[list("abc"), list("abc")], expected, atol=1e-12)
    assert fitted.weights().loc["a", "b"] > 1


def test_messages_of_all_parts_are_listed_once(fitted):
    posterior = replace(fitted.posterior, warnings=("short", "odd"), notes=("known",))
    found = replace(fitted, posterior=posterior, omitted=("The search was left out.", "odd"))
    assert found.warnings == ("short", "odd", "The search was left out.")
    assert found.notes == ("known",)
    assert found.partial
    assert not fitted.partial
    assert replace(fitted, posterior=replace(posterior, partial=True)).partial
    assert list(found.parts) == ["posterior"]


def test_a_saved_fit_is_read_back_without_its_data(fitted, tmp_path, monkeypatch):
    monkeypatch.setattr(Fit, "report", lambda self, path, **_: path.write_text("a page"))  # it takes most of the time
    fitted.save(tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} <= set(FIT_FILES)
    again = mb.load(tmp_path / "out")
    assert isinstance(again, Fit)
    assert again.data is None
    assert (again.codebook, again.scale, again.source) == ({"a": "first"}, "log-odds", fitted.source)
    np.testing.assert_array_equal(again.posterior.draws, fitted.posterior.draws)
    pd.testing.assert_frame_equal(again.edges(), fitted.edges())
    stored = pd.read_csv(tmp_path / "out" / "summary.csv", index_col=0)
    np.testing.assert_allclose(stored["mean"], fitted.summary()["mean"])
    with pytest.raises(mb.InputError, match="exists"):
        fitted.save(tmp_path / "out")


def test_what_is_no_result_is_refused_by_path(fitted, tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "fit.json").write_text('{"scale": null}')
    with pytest.raises(mb.InputError, match=r"fit\.json cannot be read"):
        mb.load(tmp_path / "broken")
    (tmp_path / "text.nc").write_text("no result")
    with pytest.raises(mb.InputError, match=r"text\.nc"):
        mb.load(tmp_path / "text.nc")
    with pytest.raises(mb.InputError, match=r"text\.nc' is a file"):
        fitted.save(tmp_path / "text.nc")


def test_a_fit_is_saved_to_a_path_alone(fitted):
    with pytest.raises(mb.InputError, match="path = None: give the path of a folder"):
        fitted.save(None)


def test_edges_of_a_search_over_tables_are_norms_in_log_odds_whatever_the_scale_of_the_fit():
    rng = np.random.default_rng(0)
    table = {"town": rng.choice(list("xyz"), 60), "ill": rng.integers(0, 2, 60)}
    found = mb.fit(table, scale="theta", select=True, seconds=20, rng=1, progress=False)
    pd.testing.assert_frame_equal(found.edges(), found.selection.edges(scale="log-odds"))
