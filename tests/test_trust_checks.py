"""The long checks themselves: mutants can be written, records go on where they stopped, generated files can be read."""

import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest

from mrfbayes.base.errors import MRFWarning

ROOT = Path(__file__).parents[1]


def test_mutants_can_be_written(trust, tmp_path):
    """Whoever changes the code of a mutant brings the mutant along: `python benchmarks/trust/mutants.py --check`."""
    import mutants

    listed = tomllib.loads((trust / "mutants.toml").read_text(encoding="utf-8"))["mutant"]
    names = [mutant["name"] for mutant in listed]
    assert len(names) == len(set(names)) > 90
    (tmp_path / "copy").mkdir()
    tree = mutants.Tree(tmp_path / "copy")
    stale = mutants.stale_mutants(tree.root, listed)
    assert stale == []
    named = {name.partition("::")[0] for mutant in listed for name in mutant["tests"]}
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_a_mutant_is_killed_or_survives(trust, tmp_path, monkeypatch):
    import mutants

    package = tmp_path / "src" / "mrfbayes" / "part"
    package.mkdir(parents=True)
    (package / "code.py").write_text("def double(x):\n    return 2 * x\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(
        "import runpy\n"
        f"double = runpy.run_path({str(package / 'code.py')!r})['double']\n"
        "def test_double():\n    assert double(2) == 4\n"
    )
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    monkeypatch.setattr(mutants, "COPIED", ())
    tree = mutants.Tree(tmp_path)
    mutant = {"name": "m", "package": "part", "function": "double", "find": "2 * x", "replace": "3 * x"}
    assert tree.meet(mutant, [["tests"]]) == {"outcome": "killed", "by": "tests/test_it.py::test_double"}
    assert tree.meet({**mutant, "replace": "x + x"}, [["tests"]])["outcome"] == "survived"
    assert tree.meet({**mutant, "find": "4 * x"}, [["tests"]])["outcome"] == "stale"
    assert tree.meet({**mutant, "function": "triple"}, [["tests"]])["outcome"] == "stale"
    assert (package / "code.py").read_text() == "def double(x):\n    return 2 * x\n"


def test_a_record_goes_on_where_it_stopped(trust, tmp_path, monkeypatch):
    import units

    monkeypatch.setattr(units, "commit", lambda: "abc")
    ran = []
    work = [(name, lambda name=name: ran.append(name) or {"outcome": name}) for name in "abc"]
    units.Record(tmp_path / "r.jsonl").run(work[:2], 60)
    with (tmp_path / "r.jsonl").open("a") as file:
        file.write('{"unit": "c", "commi')  # killed while it wrote
    record = units.Record(tmp_path / "r.jsonl")
    assert set(record.rows) == {"a", "b"}
    record.run(work, 60)
    assert ran == ["a", "b", "c"]
    monkeypatch.setattr(units, "commit", lambda: "def")
    units.Record(tmp_path / "r.jsonl").run(work, 60)
    assert ran == ["a", "b", "c"]
    units.Record(tmp_path / "r.jsonl").run(work, 60, again=True)
    assert ran == ["a", "b", "c"] * 2
    assert {row["commit"] for row in units.Record(tmp_path / "r.jsonl").rows.values()} == {"def"}


@pytest.mark.parametrize("kind", ["edges", "graphml", "uai", "checkpoint"])
def test_generated_files_are_read_or_refused(trust, tmp_path, kind):
    """A few of each kind; `make fuzz` reads thousands, of every kind."""
    import fuzz

    outcomes = set()
    for index in range(40):
        rng = np.random.default_rng([fuzz.KINDS.index(kind), index])
        content = fuzz.damaged(fuzz.GENERATORS[kind](rng), kind, rng)
        (tmp_path / str(index)).mkdir()
        path = tmp_path / str(index) / f"file.{fuzz.ENDINGS.get(kind, kind)}"
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MRFWarning)  # a checkpoint that is damaged at its end is read with one
            outcome = fuzz.read(kind, path)
        outcomes.add(outcome)
        if outcome == "refused":
            assert [entry.name for entry in path.parent.iterdir()] == [path.name]
            assert path.read_bytes() == content
    assert outcomes == {"read", "refused"}
