"""The statistical proofs at a small size, with their negative controls; `make proofs` runs them at full size."""

import numpy as np
import pytest

LEVEL = 1e-6


@pytest.mark.parametrize(
    ("case", "way", "n"),
    [
        ("4-cycle, thresholds", "exact, independence", 150),
        ("4-cycle, missing cells", "exact, random walk", 100),
        ("4-cycle, weights", "exact, random walk", 200),
        ("3x3 grid, tied", "exact, random walk", 200),
        ("4-cycle", "exchange-exact", 60),
        ("6 mixed variables", "exact, hmc", 40),
    ],
)
def test_ranks_of_exact_methods_are_uniform(trust, case, way, n):
    import ranks

    found = ranks.run_batch(case, way, 0, n)
    p = ranks.p_values(np.array(found["counts"]))
    assert p.min() * p.size > LEVEL


@pytest.mark.parametrize(
    ("way", "n"), [("pseudo", 400), ("averaged ratios, 10 particles", 40), ("MLE-L under U(0, 1)", 100)]
)
def test_ranks_of_negative_controls_are_not_uniform(trust, way, n):
    import ranks

    found = ranks.run_batch("4-cycle, thresholds", way, 0, n)
    p = ranks.p_values(np.array(found["counts"]))
    assert p.min() * p.size < LEVEL


@pytest.mark.parametrize(
    ("name", "n"), [("select, 4 binary variables", 150), ("compare_groups, 3 binary variables", 100)]
)
def test_inclusion_probabilities_are_calibrated(trust, name, n):
    import inclusion

    assert inclusion.p_value(np.array(inclusion.run_batch(name, 0, n)["bins"])) > LEVEL


@pytest.mark.parametrize("name", ["select, told bernoulli(0.8)", "compare_groups, told bernoulli(0.8)"])
def test_inclusion_probabilities_of_a_wrong_prior_are_not_calibrated(trust, name):
    import inclusion

    assert inclusion.p_value(np.array(inclusion.run_batch(name, 0, 60)["bins"])) < LEVEL


def test_uniform_ranks_pass_and_shifted_ranks_do_not(trust):
    import ranks

    rng = np.random.default_rng(1)
    uniform = rng.integers(0, 32, (3, 2_000))
    counts = np.stack([np.bincount(row, minlength=32) for row in uniform])
    assert ranks.p_values(counts).min() > LEVEL
    shifted = np.minimum(uniform + (rng.random(uniform.shape) < 0.3) * 4, 31)
    assert ranks.p_values(np.stack([np.bincount(row, minlength=32) for row in shifted])).max() < LEVEL


def test_brier_parts_add_up(trust):
    import inclusion

    rng = np.random.default_rng(2)
    p = np.repeat([0.05, 0.35, 0.75], 400)
    truth = rng.random(p.size) < p
    sums = np.zeros((10, 5))
    np.add.at(sums, (p * 10).astype(int), np.stack([np.ones_like(p), p, p * (1 - p), truth, (p - truth) ** 2], axis=1))
    parts = inclusion.brier(sums)
    np.testing.assert_allclose(parts["score"], parts["reliability"] - parts["resolution"] + parts["uncertainty"])


def test_proofs_are_summarised_from_their_record(trust, tmp_path, monkeypatch):
    import proofs
    import units

    monkeypatch.setattr(units, "commit", lambda: "abc")
    record = units.Record(tmp_path / "proofs.jsonl")
    names = ("ranks, 4-cycle, exact, random walk", "inclusion, select, 4 binary variables", "coverage, 4x4 grid")
    chosen = [unit for unit in proofs.all_units(4) if unit[0].startswith(names)]
    record.run(chosen, 600, quiet=True)
    found = {name: proofs.summary_of(name, rows) for name, rows in proofs.by_proof(units.Record(record.path)).items()}
    assert set(found) == set(names)
    assert found[names[0]]["sets"] == found[names[1]]["sets"] == found[names[2]]["sets"] == 4
    assert [found[name]["passed"] for name in names] == [None, None, None]
    assert [proofs.line_of(found[name]).partition(":")[0] for name in names] == ["too few data sets"] * 2 + ["measured"]
    monkeypatch.setattr(proofs, "FEWEST", 4)
    proofs.ecdf_figure(proofs.by_proof(record), "uniform", tmp_path / "ranks.svg")
    proofs.reliability_figure(proofs.by_proof(record), tmp_path / "inclusion.svg")
    assert {path.name for path in tmp_path.glob("*.svg")} == {"ranks.svg", "inclusion.svg"}


def test_batches_that_overlap_count_once(trust, tmp_path):
    import proofs
    import units

    record = units.Record(tmp_path / "proofs.jsonl")
    record.rows = {f"a | {span}": {"n": span} for span in ("0-20", "20-200", "20-1000", "900-950", "1000-1100")}
    assert sorted(row["n"] for row in proofs.by_proof(record)["a"]) == ["0-20", "1000-1100", "20-1000"]
    for span, is_there in (("0-1100", True), ("15-30", True), ("1000-1101", False)):
        assert proofs.is_covered(f"a | {span}", record.rows) is is_there
    assert not proofs.is_covered("b | 0-20", record.rows)


def test_proofs_are_repeated_on_another_commit_where_asked(trust, tmp_path, monkeypatch):
    import proofs
    import units

    record = units.Record(tmp_path / "proofs.jsonl")
    names = [name for name, _ in proofs.all_units(20)]
    record.rows = {name: {"commit": "old"} for name in names[:-1]} | {names[0]: {"commit": "new"}}
    monkeypatch.setattr(proofs, "commit", lambda: "new")
    assert [name for name, _ in proofs.open_units(record, 20, again=False)] == names[-1:]
    assert [name for name, _ in proofs.open_units(record, 20, again=True)] == names[1:]


def test_a_repeated_batch_is_compared_with_the_record(trust, tmp_path, monkeypatch):
    import proofs
    import units

    found = {"n": 2, "counts": np.array([[1, 1]]), "z": [0.25]}
    recorded = {"commit": "old", "n": 2, "counts": [[1, 1]], "z": [0.25], "ms": 3.0}
    assert proofs.compared(recorded, found) == {"recorded": "old", "outcome": "identical", "differ": []}
    other = recorded | {"counts": [[2, 0]]}
    assert proofs.compared(other, found) == {"recorded": "old", "outcome": "DIFFERENT", "differ": ["counts"]}
    record = units.Record(tmp_path / "proofs.jsonl")
    spans = ("0-20", "20-40", "40-60")
    monkeypatch.setattr(proofs, "all_units", lambda sets: [(f"{p} | {span}", dict) for span in spans for p in "ab"])
    record.rows = {f"a | {span}": {"commit": "old"} for span in spans} | {"b | 40-60": {"commit": "old"}}
    assert [name for name, _ in proofs.repeats(record)] == ["a | 20-40", "b | 40-60"]


def test_proofs_are_decided_by_enough_data_sets(trust):
    import proofs

    exact, control = "ranks, 4-cycle, exact, random walk", "ranks, 4-cycle, thresholds, pseudo"
    assert proofs.decided(exact, "uniform", False, 199) is None
    assert proofs.decided(exact, "uniform", False, 200) is True
    assert proofs.decided(exact, "uniform", True, 20) is False
    assert proofs.decided(control, "rejected", True, 20) is True
    assert proofs.decided(control, "rejected", False, 200) is None
    assert proofs.decided(control, "rejected", False, proofs.planned()[control]) is False
