"""Posteriors of many data sets: sums over them, names of their files, and folders of other runs."""

from dataclasses import replace

import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.results.files import packed
from mrfbayes.results.fits import LONGEST_NAME, FitFolder, Fits
from small_posteriors import make_posterior


@pytest.fixture
def fits():
    """Two that are done, one that failed, one that was not begun."""
    settings = {"prior": "uniform", "seed": ["0", []]}
    done = {
        "u": replace(make_posterior(draws=20), settings=settings),
        "v": replace(make_posterior(draws=30), settings=settings, n=50.0, warnings=("short",)),
    }
    return Fits(("u", "w", "v", "x"), done, {"w": "no rows"}, ("x",))


def test_numbers_are_sums_over_the_data_sets_that_are_done(fits):
    assert (list(fits), fits.n, fits.partial) == (["u", "v"], 150.0, True)
    assert fits.timings == {"prepare": 0.0, "compile": 0.0, "run": 2.0}
    assert fits.warnings == ("v: short", "w failed: no rows")
    assert fits.status()["status"].to_dict() == {"u": "done", "v": "done", "w": "failed", "x": "unfinished"}
    for name, reason in (("w", "no rows"), ("x", "not begun"), ("y", "no such data set")):
        with pytest.raises(KeyError, match=f"'{name}'.*{reason}"):
            fits[name]


def test_a_saved_folder_has_the_same_tables(fits, tmp_path):
    fits.save(tmp_path / "all")
    again = Fits.read(tmp_path / "all")
    pd.testing.assert_frame_equal(again.summary(), fits.summary())
    pd.testing.assert_frame_equal(again.summary().loc["v"], fits["v"].summary()[again.summary().columns])
    assert (list(again), again.failures, again.unfinished) == (["u", "v"], {"w": "no rows"}, ("x",))
    with pytest.raises(mb.InputError, match="not empty"):
        fits.save(tmp_path / "all")


def test_every_name_has_a_file_of_its_own(tmp_path):
    long = "a" * LONGEST_NAME
    names = ["a/b", "a%2Fb", "a b", "a.", "a", "..", long, long + "b" * 150, long + "b" * 149 + "c", "\u00e4", "A?"]
    files = [FitFolder(tmp_path).file(name) for name in names]
    assert len(set(files)) == len(names)
    assert all(file.parent == tmp_path and len(file.name) < 200 for file in files)


def test_a_folder_belongs_to_one_run(tmp_path):
    folder = FitFolder(tmp_path / "run")
    with folder.opened({"model": "m", "seed": "7 []"}):
        folder.keep("u", packed(replace(make_posterior(draws=10), data_digest="abc")))
    assert (folder.seed(), folder.digest("u"), folder.digest("v")) == (7, "abc", None)
    with pytest.raises(mb.InputError, match="other seed"), folder.opened({"model": "m", "seed": "8 []"}):
        pass
    content = folder.file("u").read_bytes()
    folder.file("u").write_bytes(content[:-9])  # torn off: it is done again
    assert folder.digest("u") is None
