"""What would not fit is refused by name, before it is made."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base import checks
from mrfbayes.base.checks import time_budget
from mrfbayes.model.build import complete

GRID = mb.grid(3, 4)
X = np.random.default_rng(1).integers(0, 2, size=(50, 12)).astype(np.uint8)
DENSE = complete(range(12), fields=True, coupling="both-one")
HUGE = 10**12


@pytest.fixture(scope="module")
def posterior():
    return mb.sample(GRID, X, "mle", draws=40, progress=False)


CASES = {
    "particles of a ratio method": (
        lambda p: mb.sample(GRID, X, "exchange", particles=HUGE),
        r"1,000,000,000,000 particles of 12 nodes would take .* fewer particles=",
    ),
    "particles of a calibration": (
        lambda p: mb.sample(GRID, X, "calibrated", moments="particles", particles=HUGE, progress=False),
        r"particles of 12 nodes would take .* fewer particles=",
    ),
    "particles of Laplace": (
        lambda p: mb.sample(GRID, X, "laplace", fisher="particles", particles=HUGE, progress=False),
        r"observations of 12 nodes would take",
    ),
    "particles of an estimate": (
        lambda p: mb.estimate(GRID, X, algorithm="pcd", particles=HUGE, progress=False),
        r"particles of 12 nodes would take .* fewer particles=",
    ),
    "chains of replicas": (
        lambda p: mb.sample(DENSE, X, "langevin", replicas=HUGE),
        r"'langevin' with 78 parameters and 4,000,000,000,000 replicas would take .* fewer replicas=",
    ),
    "draws of replicas": (
        lambda p: mb.sample(DENSE, X, "langevin", draws=3_000_000, thin=1),
        r"3,000,000 draws of all replicas would take .* raise thin=",
    ),
    "draws of chains": (lambda p: mb.sample(GRID, X, "exact", draws=10**10, thin=1), r"raise thin= to at least"),
    "weighed draws": (lambda p: mb.evidence(GRID, X, draws=HUGE), r"draws of 17 parameters would take .* fewer draws="),
    "replicates": (
        lambda p: mb.predictive_check(p, X, replicates=HUGE, progress=False),
        r"the statistics of 1,000,000,000,000 replicates would take .* fewer replicates=",
    ),
    "observations": (lambda p: mb.simulate(GRID, 0.6, HUGE), r"observations of 12 nodes would take"),
}


@pytest.mark.parametrize("name", CASES)
def test_work_beyond_the_memory_limit_raises_cost_error(posterior, name):
    run, message = CASES[name]
    with pytest.raises(mb.CostError, match=message):
        run(posterior)


def test_statistics_of_particles_that_do_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr(checks, "memory_limit", lambda: 1_000)
    with pytest.raises(mb.CostError, match="17 statistics of 50 configurations"):
        mb.sample(GRID, X, "calibrated", moments="particles", particles=64, progress=False)


def test_labels_of_a_file_are_read_in_blocks_whatever_its_size(monkeypatch, tmp_path):
    path = tmp_path / "labels.csv"
    labels = np.array(["no", "yes"])[X]
    path.write_text(",".join(f"q{k}" for k in range(12)) + "\n" + "\n".join(map(",".join, labels)) + "\n")
    whole = mb.Data(path).count(GRID).counts
    monkeypatch.setattr(checks, "memory_limit", lambda: 1_000)
    monkeypatch.setattr("mrfbayes.data.delimited.BLOCK_BYTES", 64)
    assert np.array_equal(mb.Data(path).count(GRID).counts, whole)


@pytest.mark.parametrize("seconds", [True, "a", -1, 0, float("nan"), [1]])
def test_time_budgets_are_positive_numbers(seconds):
    with pytest.raises(mb.InputError, match="seconds = "):
        time_budget(seconds)
    assert time_budget(np.float32(2)) == 2
    assert time_budget(None) is None
