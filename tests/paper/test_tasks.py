"""The quick profile as a person runs it."""

import os
import subprocess
import sys

import numpy as np
import pytest

import mrfbayes as mb
from command_line import run
from mrfbayes.paper.journal import Store
from mrfbayes.paper.tasks import REFUSED, RESOLUTION, Cell, CellOutcome, cells_of, observe, run_cell


def reproduce(*arguments):
    command = [sys.executable, "-c", "from mrfbayes.cli import main; main()", "reproduce", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=dict(os.environ))


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quick")
    return folder, reproduce("--profile", "quick", "--out", folder)


def test_the_quick_profile_runs_to_its_end(quick):
    folder, done = quick
    assert done.returncode == 0, done.stderr
    assert f"{len(cells_of('quick'))} cells finished" in done.stdout
    assert (folder / "README.md").exists()
    assert "| Exact-L | 1.19E+08 |" in (folder / "tables" / "table1.md").read_text()
    assert set(Store(folder / "results").outcomes) == set(cells_of("quick"))


def test_again_nothing_is_left_to_do(quick):
    folder, _ = quick
    before = {p.name: p.read_bytes() for p in (folder / "results").iterdir()}
    again = reproduce("--profile", "quick", "--out", folder)
    count = len(cells_of("quick"))
    assert f"{count} cells, {count} of them finished before" in again.stdout
    assert before == {p.name: p.read_bytes() for p in (folder / "results").iterdir()}


def test_a_cell_is_a_function_of_its_name(quick):
    folder, _ = quick
    for method in ("exact", "reference"):
        cell = Cell("4x4", 100, "adapted", method, 1, 400)
        again, stored = run_cell(cell), Store(folder / "results").outcomes[cell]
        assert again.numbers == stored.numbers
        assert again.vectors == stored.vectors
    truth = observe("4x4", 1)[0]
    assert abs(truth - RESOLUTION * np.array(stored.vectors["truth"])).max() <= RESOLUTION


@pytest.mark.parametrize("n", [100, 300])
def test_a_cell_uses_the_first_rows_of_its_replication(n):
    """The closed form of MLE-L from rows that are chosen here; other rows give other numbers."""
    model, x = mb.grid(4, 4), observe("4x4", 2)[1]
    assert len(x) == 1000

    def means(rows):
        estimate = mb.estimate(model, rows, algorithm="exact", progress=False)
        found = mb.likelihood(model, rows, "mle", estimate=estimate, rho=0.0)
        return np.array([found.marginal(j).mean for j in range(model.n_parameters)])

    stored = RESOLUTION * np.array(run_cell(Cell("4x4", n, "closed", "mle-0", 2)).vectors["mean"])
    np.testing.assert_allclose(stored, means(x[:n]), atol=2 * RESOLUTION)
    assert np.abs(stored - means(x[-n:])).max() > 1e-3


def test_no_answer_is_a_result_only_where_a_setting_says_so(monkeypatch):
    def refuse(*arguments, **options):
        raise mb.InputError("there is none")

    monkeypatch.setattr(mb, "sample", refuse)
    assert run_cell(Cell("4x4", 100, "laplace-centre", "laplace", 0, 200)) == CellOutcome({REFUSED: 1.0}, {})
    with pytest.raises(mb.InputError, match="there is none"):
        run_cell(Cell("4x4", 100, "laplace-theta", "laplace", 0, 200))


def test_a_chain_that_never_moves_has_no_effective_draws():
    stuck = run_cell(Cell("4x4", 1000, "printed-mle", "exact", 0, 200))  # the printed steps are too long there
    assert stuck.numbers == {"acceptance": 0.0, "ess": 0.0}
    assert set(stuck.vectors["sd"]) == {0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--profile", "huge"), "--profile huge: choose one of quick"),
        (("--cluster", "127.0.0.1:9"), "no Dask scheduler answers there"),
    ],
)
def test_a_problem_is_one_line(tmp_path, monkeypatch, arguments, message):
    monkeypatch.setattr("mrfbayes.run.pools.ANSWER_SECONDS", 1)
    done = run("reproduce", *arguments, "--out", tmp_path, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
