"""Results on disk: what was computed comes back, what is damaged is refused, what fails is said in one line."""

import errno
import json
import os
import subprocess
import sys
import textwrap
import warnings
from dataclasses import replace

import numba
import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.base.digests import seal
from mrfbayes.results.files import MAY_BE_NAN, RANGES, check_ranges, sealed, tree_of

RNG = np.random.default_rng(1)
X = RNG.integers(0, 2, (60, 3))
X[:40, 1] = X[:40, 0]
MODEL = mb.graph([("a", "b"), ("b", "c")], fields=True, coupling="both-one")
PRIORS = [
    "uniform",
    "normal(0.123456789, 1)",
    {"edges": "normal(0, 1)"},
    {"edges": "cauchy(0, 2.5)", "b": "beta(2, 3)"},
]


def draw(model=MODEL, x=X, method="exact", **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)  # short chains
        return mb.sample(model, x, method, **{"draws": 200, "chains": 2, "progress": False, "rng": 3} | settings)


@pytest.fixture(scope="module")
def posterior():
    return draw()


@pytest.fixture(scope="module")
def content(posterior, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "result.nc"
    posterior.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize("asked", [True, False], ids=["asked before saving", "asked after loading"])
def test_edges_are_the_same_after_loading(tmp_path, prior, asked):
    live = draw(prior=prior)
    if asked:
        live.edges()
    live.save(tmp_path / "result.nc")
    loaded = mb.load(tmp_path / "result.nc")
    assert ("_edge_evidence" in loaded.__dict__) is asked
    for scale in ("theta", "log-odds"):
        pd.testing.assert_frame_equal(loaded.edges(scale=scale), live.edges(scale=scale), check_exact=True)
        assert loaded.edges(scale=scale).attrs == live.edges(scale=scale).attrs
    assert not live.edges()["log_bf10"].isna().any()


def test_edges_from_draws_are_the_same_after_loading(tmp_path, monkeypatch):
    monkeypatch.setattr("mrfbayes.results.bayes_factors.CORRECTED_LIMIT", 0)
    live = draw(prior={"edges": "normal(0, 1)"})
    live.save(tmp_path / "result.nc")
    loaded = mb.load(tmp_path / "result.nc")
    pd.testing.assert_frame_equal(loaded.edges(), live.edges(), check_exact=True)
    assert loaded.edges().attrs["source"] == "density of the draws"


def test_an_estimate_at_hand_changes_no_bayes_factor(posterior):
    other = replace(posterior, _problem=replace(posterior._problem, given_estimate=mb.estimate(MODEL, X)))
    pd.testing.assert_frame_equal(other.edges(), posterior.edges(), check_exact=True)


def test_edges_of_a_loaded_result_need_observations(tmp_path, monkeypatch):
    monkeypatch.setattr("mrfbayes.results.bayes_factors.MOMENT_CELLS", 0)
    live = draw()
    live.save(tmp_path / "asked-after.nc")
    with pytest.raises(mb.InputError, match=r"cannot be computed: .* Call edges\(\) before save\(\)"):
        mb.load(tmp_path / "asked-after.nc").edges()
    live.edges()
    live.save(tmp_path / "asked-before.nc")
    pd.testing.assert_frame_equal(mb.load(tmp_path / "asked-before.nc").edges(), live.edges(), check_exact=True)


def test_custom_prior_warns_that_there_are_no_bayes_factors(tmp_path):
    @numba.cfunc("float64(CPointer(float64), int64)")
    def flat(theta, p):
        return 0.0

    live = draw(prior=flat, engine="mh")
    live.save(tmp_path / "result.nc")
    with pytest.warns(mb.MRFWarning, match=r"2 of 2 edges have no Bayes factor .* a custom prior"):
        assert live.edges()["log_bf10"].isna().all()
    with pytest.raises(mb.InputError, match="its prior is a custom function"):
        mb.load(tmp_path / "result.nc").edges()
    live.save(tmp_path / "known.nc")
    assert (mb.load(tmp_path / "known.nc").edges()["verdict"] == "unknown").all()


def test_dice_without_bayes_factors_are_named(monkeypatch):
    monkeypatch.setattr("mrfbayes.results.bayes_factors.CORRECTED_LIMIT", 0)
    model = mb.Model(["a", "b"], [mb.Factor(("a", "b"), outcomes=[[3, 0], [1, 2]])])
    with pytest.warns(mb.MRFWarning, match=r"1 of 1 edges have no Bayes factor .*a--b among them: .* two outcomes"):
        assert draw(model, X[:, :2]).edges()["log_bf10"].isna().all()


def test_quantiles_in_closed_form_come_back(tmp_path):
    live = draw(method="mle")
    assert live._quantile is not None or live.engine == "direct"
    live = draw(method="calibrated")
    live.save(tmp_path / "result.nc")
    loaded = mb.load(tmp_path / "result.nc")
    for interval in (0.9, 0.95, 0.5):
        pd.testing.assert_frame_equal(
            loaded.summary(ci_prob=interval), live.summary(ci_prob=interval), check_exact=True
        )
    with pytest.warns(mb.MRFWarning, match="% quantiles of this loaded result"):
        near = loaded.summary(ci_prob=0.85)
    np.testing.assert_allclose(near["q7.5"], live.summary(ci_prob=0.85)["q7.5"], atol=0.1)


def test_numbers_in_details_stay_numbers(posterior, tmp_path):
    replace(posterior, details={"count": np.int64(3), "share": np.float32(0.5), "list": np.arange(2)}).save(
        tmp_path / "r"
    )
    assert mb.load(tmp_path / "r").details == {"count": 3, "share": 0.5, "list": [0, 1]}


def test_the_loaded_problem_has_data_and_prior(posterior, tmp_path):
    live = draw(prior=PRIORS[3])
    live.save(tmp_path / "r.nc")
    problem = mb.load(tmp_path / "r.nc")._problem
    np.testing.assert_array_equal(problem.statistics.counts, live._problem.statistics.counts)
    assert problem.statistics.digest == live.data_digest
    assert problem.prior.per_block == live._problem.prior.per_block


def test_any_flipped_bit_is_refused(content, tmp_path):
    generator = np.random.default_rng(7)
    path = tmp_path / "flipped.nc"
    places = {
        *generator.integers(0, 8 * len(content), 300).tolist(),
        *range(8 * len(content) - 8 * 90, 8 * len(content), 7),
    }
    for place in sorted(places):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << (place % 8)
        path.write_bytes(flipped)
        with pytest.raises(mb.InputError, match=r"flipped\.nc.*damaged"):
            mb.load(path)


@pytest.mark.parametrize("length", [0, 1, 100, 5_000, -200, -82, -81, -1])
def test_a_truncated_file_is_refused(content, tmp_path, length):
    path = tmp_path / "short.nc"
    path.write_bytes(content[:length])
    with pytest.raises(mb.InputError, match=r"damaged"):
        mb.load(path)


def test_a_changed_number_is_refused(content, tmp_path):
    import h5py

    path = tmp_path / "changed.nc"
    path.write_bytes(content)
    with h5py.File(path, "r+") as file:
        file["posterior/theta"][0, 0, 0] = 0.25
    with pytest.raises(mb.InputError, match=r"changed.nc.*damaged"):
        mb.load(path)


def tampered(tmp_path, change):
    """A file with something altered and a right checksum, as another program could write it."""
    tree = tree_of(draw(prior="normal(0, 1)"))
    tree = change(tree) or tree
    (tmp_path / "tampered.nc").write_bytes(sealed(tree))
    return tmp_path / "tampered.nc"


def set_value(place, index, value):
    def change(tree):
        values = tree[place].values.copy()
        values[index] = value
        tree[place] = tree[place].copy(data=values)

    return change


def set_attribute(group, name, value):
    def change(tree):
        tree[group].attrs[name] = value

    return change


def set_field(name, value):
    def change(tree):
        tree.attrs["fields"] = json.dumps({**json.loads(tree.attrs["fields"]), name: value})

    return change


def test_an_untouched_file_is_read(tmp_path):
    """The control of what follows."""
    assert mb.load(tampered(tmp_path, lambda tree: None)).draws.shape == (2, 200, 5)


@pytest.mark.parametrize(
    "change",
    [
        set_value("posterior/theta", (0, 0, 0), 1.5),
        set_value("posterior/theta", (0, 0, 0), np.nan),
        set_value("model/states", 0, 10**9),
        set_value("model/states", 0, 1),
        set_value("model/edges", (0, 0), 77),
        set_value("model/group0_scope", (0, 0), -5),
        set_value("model/group0_block", 0, 10**12),
        set_value("model/group0_block", 0, 2),
        set_value("model/group0_table", (0, 0), 10**9),
        set_attribute("/", "format", "mrfbayes result 99"),
        set_attribute("/", "kind", "Object"),
        set_attribute("/", "fields", "[1, 2"),
        set_attribute("/", "fields", "[" * 100_000),
        set_attribute("/", "fields", "7"),
        set_field("settings", 7),
        set_field("steps", "many"),
        set_field("label", 3),
        set_field("warnings", "one"),
        set_field("details", {"trust": 3}),
        set_attribute("model", "grid_shape", "[1000000, 1000000]"),
        set_attribute("model", "nodes", "[1, 2, 3]"),
        set_attribute("model", "nodes", "null"),
        set_attribute("model", "is_score", "[true, true, true, true, true]"),
        set_attribute("data", "prior", '{"distributions": [["__import__", ["os"]]], "blocks": [0, 0, 0, 0, 0]}'),
        set_attribute("data", "prior", '{"distributions": [["normal", [0, "x"]]], "blocks": [0, 0, 0, 0, 0]}'),
        set_attribute("data", "prior", '{"distributions": [["normal", [0, 1]]], "blocks": [0, 0, 0, 0, 7]}'),
        set_attribute("data", "n", -3.0),
        set_field("n", float("nan")),
        set_field("n", -5.0),
        set_field("n", float("inf")),
        set_field("steps", -1.0),
        set_field("thin", 0.0),
        set_field("timings", {"run": -1}),
        set_value("moments/sd", 0, -3.0),
        set_value("moments/mean", 0, np.nan),
        set_value("log_likelihood/total", (0, 0), np.inf),
        lambda tree: tree.drop_nodes("moments"),
        lambda tree: tree.drop_nodes("model"),
    ],
)
def test_a_malicious_file_is_refused_in_one_line(tmp_path, change):
    path = tampered(tmp_path, change)
    with pytest.raises(mb.InputError, match=r"tampered\.nc: not a result file") as caught:
        mb.load(path)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(("name", "value"), [("n", np.nan), ("n", -5.0), ("sd", -3.0), ("thin", 0)])
def test_a_sealed_file_with_impossible_numbers_is_refused(posterior, tmp_path, name, value):
    """The checksum is right: only the number is not."""
    changed = np.full_like(posterior.sd, value) if name == "sd" else value
    replace(posterior, **{name: changed}).save(tmp_path / "r.nc")
    with pytest.raises(mb.InputError, match=rf"its {name} = {value:g}"):
        mb.load(tmp_path / "r.nc")


def test_every_range_can_refuse_and_accept():
    for name, (low, high) in RANGES.items():
        check_ranges({name: np.array([max(low, -1e300), min(high, 1e300)])})
        check_ranges({name: {"a": max(low, -1.0)}})
        with pytest.raises(mb.InputError, match=name):
            check_ranges({name: [low, np.inf]})
    check_ranges(dict.fromkeys(MAY_BE_NAN, np.nan))
    for name in RANGES.keys() - MAY_BE_NAN:
        with pytest.raises(mb.InputError, match=name):
            check_ranges({name: np.nan})


def test_a_sealed_file_that_is_no_result_is_refused(tmp_path):
    (tmp_path / "r.nc").write_bytes(b"text" + seal(b"text"))
    with pytest.raises(mb.InputError, match=r"r\.nc: not a result file"):
        mb.load(tmp_path / "r.nc")


def test_invalid_path_is_refused(tmp_path):
    for given in (None, b"result.nc", 5):
        with pytest.raises(mb.InputError, match="give the path of a result file"):
            mb.load(given)
    with pytest.raises(mb.InputError, match="a folder, not a result file"):
        mb.load(tmp_path)


def test_a_bomb_is_refused_before_it_is_unpacked(content, tmp_path):
    import h5py

    path = tmp_path / "bomb.nc"
    with h5py.File(path, "w") as file:
        file.create_dataset(
            "posterior/theta", shape=(10**6, 10**6), dtype=float, chunks=(1000, 1000), compression="gzip"
        )
    path.write_bytes(path.read_bytes() + seal(path.read_bytes()))
    with pytest.raises(mb.InputError, match="would unpack to 8000000000000"):
        mb.load(path)


def test_a_file_that_points_to_others_is_refused(content, tmp_path):
    import h5py

    (tmp_path / "other.nc").write_bytes(content)
    for number, target in enumerate([h5py.ExternalLink("other.nc", "/posterior"), h5py.SoftLink("/model")]):
        path = tmp_path / f"pointing{number}.nc"
        with h5py.File(path, "w") as file:
            file["posterior"] = target
        path.write_bytes(path.read_bytes() + seal(path.read_bytes()))
        with pytest.raises(mb.InputError, match="is a link"):
            mb.load(path)
    layout = h5py.VirtualLayout(shape=(1,), dtype=float)
    layout[:] = h5py.VirtualSource(tmp_path / "other.nc", "moments/mean", shape=(5,))[:1]
    with h5py.File(tmp_path / "virtual.nc", "w") as file:
        file.create_virtual_dataset("moments/mean", layout)
    path = tmp_path / "virtual.nc"
    path.write_bytes(path.read_bytes() + seal(path.read_bytes()))
    with pytest.raises(mb.InputError, match="refers to other files"):
        mb.load(tmp_path / "virtual.nc")


def test_a_full_disk_keeps_the_draws_and_the_old_file(posterior, tmp_path, monkeypatch):
    path = tmp_path / "result.nc"
    path.write_bytes(b"old")

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("mrfbayes.base.atomic_files.os.replace", full)
        with pytest.raises(mb.OutputError, match=r"No space left .* still in memory: save"):
            posterior.save(path, overwrite=True)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["result.nc"]
    posterior.save(tmp_path / "elsewhere.nc")
    np.testing.assert_array_equal(mb.load(tmp_path / "elsewhere.nc").draws, posterior.draws)


def test_a_real_limit_in_the_middle_of_saving(content, tmp_path):
    """The system refuses to write on while the file grows: no crash in HDF5, no half file, the draws still there."""
    (tmp_path / "good.nc").write_bytes(content)
    code = f"""
    import resource, mrfbayes as mb
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    posterior = mb.load({str(tmp_path / "good.nc")!r})
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        posterior.save({str(tmp_path / "result.nc")!r})
    except mb.OutputError as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    posterior.save({str(tmp_path / "again.nc")!r})
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "cannot be written (File too large)" in done.stdout
    assert sorted(os.listdir(tmp_path)) == ["again.nc", "good.nc"]


def test_a_place_that_cannot_be_written_is_named_first(posterior, tmp_path, monkeypatch):
    monkeypatch.setattr("mrfbayes.results.files.packed", lambda posterior: pytest.fail("the file was made already"))
    with pytest.raises(mb.InputError, match="there is no folder"):
        posterior.save(tmp_path / "no" / "result.nc")
    with pytest.raises(mb.InputError, match="is a folder"):
        posterior.save(tmp_path, overwrite=True)


def test_a_prior_for_every_block():
    prior = ["normal(0, 1)", mb.priors.Beta(2, 2), "uniform", "uniform", "uniform"]
    assert str(mb.priors.Prior(MODEL, prior).per_block[1]) == "beta(2, 2)"
    with pytest.raises(mb.InputError, match="a list of 2 distributions for 5 blocks"):
        mb.priors.Prior(MODEL, prior[:2])
    with pytest.raises(mb.InputError, match=r"prior: 3 .*not a distribution"):
        mb.priors.Prior(MODEL, [3, *prior[1:]])
