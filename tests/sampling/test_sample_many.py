"""Many data sets: each depends on itself alone, whatever the workers, the order and the kills on the way."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.results.fits import IDENTITY_FILE, FitFolder
from mrfbayes.sampling import sample_many as module

MODEL = mb.grid(2, 3)
DATA = {name: np.random.default_rng(k).integers(0, 2, (40 + k, 6)) for k, name in enumerate("abcd")}
SETTINGS = {"draws": 200, "chains": 2, "progress": False, "rng": 5}


@pytest.fixture(scope="module")
def fits():
    return mb.sample_many(MODEL, DATA, method="mle", **SETTINGS)


def same(first, second):
    return list(first) == list(second) and all(np.array_equal(first[k].draws, second[k].draws) for k in first)


def test_each_is_a_posterior_of_its_own(fits):
    assert list(fits) == list("abcd")
    assert repr(fits) == "<Fits: 4 posteriors>"
    assert not fits.partial
    alone = mb.sample_many(MODEL, {"c": DATA["c"]}, method="mle", **SETTINGS)
    assert np.array_equal(alone["c"].draws, fits["c"].draws)  # the others do not matter
    by_hand = mb.sample(
        MODEL, DATA["b"], "mle", **{**SETTINGS, "rng": module.stream_of(np.random.SeedSequence(5), "b")}
    )
    assert np.array_equal(by_hand.draws, fits["b"].draws)
    assert not np.array_equal(fits["a"].draws, fits["b"].draws)


def test_tables_over_all(fits):
    table = fits.summary(scale="log-odds")
    assert table.shape == (4 * 7, 4)
    assert table.loc[("b", MODEL.parameters[2]), "mean"] == pytest.approx(fits["b"].log_odds[..., 2].mean())
    status = fits.status()
    assert list(status["status"]) == ["done"] * 4
    assert list(status["n"]) == [40, 41, 42, 43]


def test_processes_and_a_folder_change_nothing(fits, tmp_path):
    apart = mb.sample_many(MODEL, DATA, method="mle", workers=2, folder=tmp_path, **SETTINGS)
    assert same(apart, fits)
    assert sorted(path.name for path in tmp_path.glob("*.nc")) == ["a.nc", "b.nc", "c.nc", "d.nc"]
    assert np.array_equal(mb.load(tmp_path / "c.nc").draws, fits["c"].draws)


SCRIPT = """
import os, signal, sys
import numpy as np
import mrfbayes as mb
from mrfbayes.results import fits
keep = fits.FitFolder.keep
def killed(self, name, content):
    keep(self, name, content)
    if name == "b":
        os.kill(os.getpid(), signal.SIGKILL)
fits.FitFolder.keep = killed
data = {name: np.random.default_rng(k).integers(0, 2, (40 + k, 6)) for k, name in enumerate("abcd")}
mb.sample_many(mb.grid(2, 3), data, method="mle", folder=sys.argv[1], draws=200, chains=2, rng=5)
"""


def test_a_killed_run_goes_on(fits, tmp_path, monkeypatch):
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, env=os.environ)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert sorted(path.name for path in tmp_path.glob("*.nc")) == ["a.nc", "b.nc"]
    content = (tmp_path / "b.nc").read_bytes()
    (tmp_path / "a.nc").write_bytes(content[:-200])  # and a damaged file is made again
    sampled = []
    sample = module.sample
    monkeypatch.setattr(module, "sample", lambda *a, **k: sampled.append(a[1].n) or sample(*a, **k))
    again = mb.sample_many(MODEL, DATA, method="mle", folder=tmp_path, **SETTINGS)
    assert sampled == [40, 42, 43]
    assert same(again, fits)
    assert (tmp_path / "b.nc").read_bytes() == content


def test_a_folder_of_another_run_is_refused(tmp_path):
    few = {"a": DATA["a"]}
    mb.sample_many(MODEL, few, method="mle", folder=tmp_path, **SETTINGS)
    with pytest.raises(mb.InputError, match=r"is of another run \(other settings\)"):
        mb.sample_many(MODEL, few, method="mle", folder=tmp_path, **{**SETTINGS, "draws": 300})
    with pytest.raises(mb.InputError, match=r"is of another run \(other seed\)"):
        mb.sample_many(MODEL, few, method="mle", folder=tmp_path, **{**SETTINGS, "rng": 6})
    with pytest.raises(mb.InputError, match=r"folder .*other data"):
        mb.sample_many(MODEL, {"a": DATA["b"]}, method="mle", folder=tmp_path, **SETTINGS)
    (tmp_path / IDENTITY_FILE).unlink()
    with pytest.raises(mb.InputError, match="holds result files of something else"):
        mb.sample_many(MODEL, few, method="mle", folder=tmp_path, **SETTINGS)
    (tmp_path / IDENTITY_FILE).write_text("[")
    with pytest.raises(mb.InputError, match="cannot be read"):
        mb.sample_many(MODEL, few, method="mle", folder=tmp_path, **SETTINGS)


def test_a_folder_belongs_to_one_process(tmp_path):
    identity = {"format": "x"}
    with (
        FitFolder(tmp_path / "f").opened(identity),
        pytest.raises(mb.InputError, match="in use by another process"),
        FitFolder(tmp_path / "f").opened(identity),
    ):
        pass
    assert json.loads((tmp_path / "f" / IDENTITY_FILE).read_text()) == identity
    with pytest.raises(mb.InputError, match="cannot be made"), FitFolder(tmp_path / "no" / "f").opened(identity):
        pass


def test_one_bad_data_set_costs_only_itself():
    with pytest.warns(mb.MRFWarning, match=r"1 of 2 data sets failed.*'bad': InputError: x has 3 columns"):
        found = mb.sample_many(MODEL, {"bad": np.zeros((5, 3)), "a": DATA["a"]}, method="mle", **SETTINGS)
    assert list(found) == ["a"]
    assert repr(found) == "<Fits: 1 posteriors, 1 failed>"
    with pytest.raises(KeyError, match="x has 3 columns"):
        found["bad"]
    assert list(found.status()["status"]) == ["done", "failed"]
    with pytest.raises(mb.InputError, match="1 of 1 data sets failed"):
        mb.sample_many(MODEL, [np.zeros((5, 3))], method="mle", **SETTINGS)


def test_a_budget_leaves_the_rest_undone(monkeypatch):
    fit_one = module.fit_one

    def once(*arguments):
        module.Budget.is_out = True  # as if the first one had taken all the time there was
        return fit_one(*arguments)

    monkeypatch.setattr(module, "Budget", type("Budget", (module.Budget,), {"is_out": False}))
    monkeypatch.setattr(module, "fit_one", once)
    with pytest.warns(mb.MRFWarning, match=r"3 of 4 data sets .*folder="):
        found = mb.sample_many(MODEL, DATA, method="mle", seconds=1, **SETTINGS)
    assert list(found) == ["a"]
    assert found.partial
    assert found.unfinished == ("b", "c", "d")
    with pytest.raises(KeyError, match="was not begun"):
        found["b"]


def test_ctrl_c_keeps_what_is_finished(monkeypatch):
    fit_one = module.fit_one

    def interrupted(model, x, *rest):
        if len(x) == 42:
            raise KeyboardInterrupt
        return fit_one(model, x, *rest)

    monkeypatch.setattr(module, "fit_one", interrupted)
    with pytest.warns(mb.MRFWarning, match="2 of 4 data sets are not done"):
        found = mb.sample_many(MODEL, DATA, method="mle", **SETTINGS)
    assert list(found) == ["a", "b"]


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".", "..", "x" * 300, "Ä <img>", "con\n", "a\0"])
def test_any_name_is_a_file_of_the_folder(name, tmp_path):
    path = FitFolder(tmp_path).file(name)
    assert path.parent == tmp_path
    assert path.resolve().parent == tmp_path.resolve()
    path.write_bytes(b"")
    assert path.name.endswith(".nc")
    assert path != FitFolder(tmp_path).file(name + "y")


@pytest.mark.parametrize(
    ("datasets", "changes", "message"),
    [
        ({}, {}, "data is empty"),
        ("data.csv", {}, "data is a str: give a mapping"),
        (7, {}, "data is a int"),
        ({1: DATA["a"], "1": DATA["b"]}, {}, "two names are the same"),
        (DATA, {"checkpoint": "f"}, "checkpoint= is not for the single data sets: folder="),
        (DATA, {"workers": 0}, "workers = 0"),
        (DATA, {"seconds": -1}, "seconds = -1"),
        (DATA, {"stepz": 5}, "no option 'stepz'"),
        (DATA, {"method": "magic"}, "method = 'magic'"),
    ],
)
def test_bad_calls_are_refused_before_any_data(datasets, changes, message, monkeypatch):
    monkeypatch.setattr(module, "fit_one", None)
    with pytest.raises(mb.InputError, match=message):
        mb.sample_many(MODEL, datasets, **{"method": "mle", **SETTINGS, **changes})


def test_missing_cells_are_dropped_where_that_is_asked_for():
    holed = DATA["a"].astype(float)
    holed[3, 2] = np.nan
    fits = mb.sample_many(MODEL, {"holed": mb.Data(holed, missing="drop")}, method="mle", **SETTINGS)
    assert fits["holed"].n == 39
    with pytest.raises(mb.InputError, match="missing cells"):
        mb.sample_many(MODEL, {"holed": holed}, method="mle", **SETTINGS)


def test_a_table_of_all_subjects_is_to_be_split():
    import pandas as pd

    table = pd.DataFrame(DATA["a"])
    with pytest.raises(mb.InputError, match="groupby"):
        mb.sample_many(MODEL, table, method="mle", **SETTINGS)


def test_data_without_groups_are_refused():
    with pytest.raises(mb.InputError, match=r"data: no groups; make Data"):
        mb.sample_many(MODEL, mb.Data(DATA["a"]), **SETTINGS)
