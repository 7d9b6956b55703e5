"""The settings are those of the paper, and the study is made of the public interface alone."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes import paper
from mrfbayes.engines.metropolis import PRINTED_VARIANCE
from mrfbayes.paper import constants as settings
from mrfbayes.paper.tasks import PARTS, PROFILES, Cell, cells_of, observe, seed_of


def test_the_constants_are_those_of_section_3():
    assert {grid: mb.grid(*shape).n_parameters for grid, shape in settings.GRIDS.items()} == settings.PARAMETERS
    assert dict(settings.PARAMETERS) == {"4x4": 24, "6x6": 60, "8x8": 112}
    assert settings.THETA_RANGE == (0.5, 0.8)
    assert settings.SAMPLE_SIZES == (100, 200, 300, 400, 500, 600, 700, 800, 900, 1000)
    assert settings.PROPOSAL_VARIANCE == PRINTED_VARIANCE == 0.001
    assert (settings.PAPER_STEPS, settings.PARTICLES, settings.PARTICLE_SWEEPS) == (1_000_000, 1_000, 1_000)
    assert (settings.PERSISTENT_SWEEPS, settings.REPLICATIONS, settings.PRIOR) == (1, 50, "uniform")
    rho = [row.options["rho"] for row in settings.METHODS.values() if row.key == "mle"]
    assert tuple(rho) == settings.COPULA_CORRELATIONS == (0.0, 0.05, 0.1)


def test_ten_rows_run_with_the_same_start_steps_and_particles():
    assert len(settings.TEN) == 10
    assert set(settings.PRINTED_TIMES["4x4"]) == set(settings.TEN)
    cells = [c for c in cells_of("paper", ["table1"]) if c.method in settings.TEN]
    assert {c.steps for c in cells} == {1_000_000}
    assert {c.setting for c in cells} == {"adapted"}  # and the start is the setting's, not the row's
    for method in settings.PAPER_SAMPLERS:
        assert settings.METHODS[method].options["particles"] == 1_000


def test_the_paper_profile_has_every_row_at_every_n_fifty_times():
    cells = set(cells_of("paper"))
    for grid in settings.GRIDS:
        for method in settings.LIKELIHOODS:
            found = {(c.n, c.replication) for c in cells if (c.grid, c.method, c.setting) == (grid, method, "adapted")}
            assert found == {(n, r) for n in settings.SAMPLE_SIZES for r in range(50)}


def test_parts_make_up_the_profile():
    for profile in PROFILES:
        whole = set(cells_of(profile))
        assert whole == set().union(*(cells_of(profile, [part]) for part in PARTS))
        assert sorted(c.replication for c in whole) == [c.replication for c in cells_of(profile)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fast",), "--profile fast: choose one of quick, standard, paper"),
        (("quick", ["table3"]), "--only table3: choose one of table1"),
        (("quick", [], ["gibbs"]), "--method gibbs: choose one of exact"),
        (("quick", [], [], ["5x5"]), "--grid 5x5: choose one of 4x4"),
    ],
)
def test_unknown_names_are_refused(arguments, message):
    with pytest.raises(mb.InputError, match=message):
        cells_of(*arguments)


def test_data_belong_to_the_replication_and_samples_are_nested():
    theta, x = observe("4x4", 3)
    assert x.shape == (1000, 16)
    assert ((theta > 0.5) & (theta < 0.8)).all()
    observe.cache_clear()
    again, same = observe("4x4", 3)
    assert np.array_equal(theta, again)
    assert np.array_equal(x, same)
    assert not np.array_equal(theta, observe("4x4", 4)[0])


def test_every_cell_has_a_stream_of_its_own():
    cells = cells_of("standard")
    names = {seed_of(c.grid, c.n, c.setting, c.method, c.replication, c.steps).spawn_key for c in cells}
    assert len(names) == len(cells) == len(set(cells))


def _foreign(source: str) -> list[str]:
    """Imports of the package that are not its public names or the study itself, and names of ``mb`` that are hidden.

    How files are written, how an interrupt is held back and where jobs run is no part of the study.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.startswith("mrfbayes.") and "mrfbayes.paper" not in a.name]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module == "mrfbayes":
                found += [a.name for a in node.names if a.name not in (*mb.__all__, "paper")]
            elif module.startswith(("mrfbayes.base.", "mrfbayes.run.pools", "mrfbayes.run.pools")):
                continue
            elif module.startswith("mrfbayes.") and not module.startswith("mrfbayes.paper"):
                found.append(module)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "mb":
            found += [node.attr] if node.attr not in mb.__all__ else []
    return found


def test_the_study_uses_the_public_interface_only():
    files = sorted(Path(paper.__file__).parent.glob("*.py"))
    assert len(files) > 5
    for file in files:
        assert _foreign(file.read_text(encoding="utf-8")) == [], file.name


@pytest.mark.parametrize(
    "source",
    [
        "import mrfbayes.run.driver",
        "from mrfbayes.kernels.run import chain",
        "from mrfbayes import kernels",
        "mb.sampling",
    ],
)
def test_the_check_of_the_interface_can_fail(source):
    assert _foreign(source)


def test_importing_the_package_does_not_load_the_study():
    import subprocess

    code = "import sys, mrfbayes; sys.exit(any('paper' in m or m == 'dask' for m in sys.modules if 'mrfbayes' in m))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_cell_says_what_it_is():
    assert str(Cell("4x4", 100, "adapted", "exact", 7)) == "4x4 n=100 adapted exact replication 7, 1000000 steps"
