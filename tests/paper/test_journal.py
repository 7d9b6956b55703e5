"""Records survive whatever happens to the process that writes them."""

import errno
import json
import os

import pytest

import mrfbayes as mb
from mrfbayes.paper.journal import JOURNAL, TIMINGS, Store, decode, encode
from mrfbayes.paper.tasks import Cell, CellOutcome
from paper.outcome_cases import PAPER

CELLS = [Cell("4x4", n, "adapted", method, r) for n in (100, 500) for method in ("exact", "mle-0") for r in (1, 0)]


def outcome(k, seconds=1.0):
    return CellOutcome(
        {"ess": 100.0 + k}, {"mean": [500_000 + k], "sd": [40_000]}, {"prepare": 0.5, "chain": seconds, "share": 1.0}
    )


def files(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name not in (TIMINGS, JOURNAL)}


def test_files_depend_neither_on_order_nor_on_seconds(tmp_path):
    with Store(tmp_path / "a") as a:
        for k, cell in enumerate(CELLS):
            a.add(cell, outcome(k))
    with Store(tmp_path / "b") as b:
        for k, cell in reversed(list(enumerate(CELLS))):
            b.add(cell, outcome(k, seconds=3.0))
            b.merge()
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert sorted(files(tmp_path / "a")) == ["4x4-n0100-adapted.jsonl", "4x4-n0500-adapted.jsonl"]
    assert (tmp_path / "a" / TIMINGS).read_text() != (tmp_path / "b" / TIMINGS).read_text()


def test_what_was_stored_comes_back(tmp_path):
    with Store(tmp_path) as store:
        for k, cell in enumerate(CELLS):
            store.add(cell, outcome(k))
    again = Store(tmp_path)
    assert again.outcomes == {cell: outcome(k) for k, cell in enumerate(CELLS)}
    assert CELLS[0] in again
    assert Cell("4x4", 100, "adapted", "exact", 1, steps=10) not in again  # another length is another cell


def test_a_torn_last_line_is_dropped_and_the_rest_kept(tmp_path):
    (tmp_path / JOURNAL).write_text("")
    whole = Store(tmp_path)
    lines = [
        encode({"cell": vars(cell), "numbers": {}, "vectors": {"mean": [k]}, "seconds": {}})
        for k, cell in enumerate(CELLS[:3])
    ]
    for cut in range(1, len(lines[2])):
        (tmp_path / JOURNAL).write_text(lines[0] + lines[1] + lines[2][:-cut])
        whole = Store(tmp_path)
        kept = 3 if cut == 1 else 2  # without its line feed alone the record is whole
        assert list(whole.outcomes) == CELLS[:kept]


def test_a_record_after_a_torn_one_is_not_lost(tmp_path):
    with Store(tmp_path) as store:
        store.add(CELLS[0], outcome(0))
    text = encode({"cell": vars(CELLS[1]), "numbers": {}, "vectors": {}, "seconds": {}})
    (tmp_path / JOURNAL).write_text(text[:-20])
    with Store(tmp_path) as store:
        assert list(store.outcomes) == CELLS[:1]
        store.add(CELLS[1], outcome(1))
        lines = (tmp_path / JOURNAL).read_text().splitlines()
        assert [decode(line) is not None for line in lines] == [True]


def test_an_altered_result_is_refused_with_its_place(tmp_path):
    with Store(tmp_path) as store:
        store.add(CELLS[0], outcome(0))
    path = tmp_path / "4x4-n0100-adapted.jsonl"
    path.write_text(path.read_text().replace("500000", "500001"))
    with pytest.raises(mb.InputError, match=r"4x4-n0100-adapted.jsonl:1: .*checksum"):
        Store(tmp_path)


def test_a_finished_cell_is_never_replaced(tmp_path):
    with Store(tmp_path) as store:
        store.add(CELLS[0], outcome(0))
        store.add(CELLS[0], outcome(5))
    assert Store(tmp_path).outcomes[CELLS[0]] == outcome(0)


def test_a_second_run_on_the_same_folder_is_refused(tmp_path):
    with Store(tmp_path), pytest.raises(mb.InputError, match="in use by another run"), Store(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(mb.InputError, match="cannot be written"), Store(tmp_path / "file" / "results"):
        pass


def test_records_are_plain_json(tmp_path):
    with Store(tmp_path) as store:
        store.add(CELLS[0], outcome(0))
    record = json.loads((tmp_path / "4x4-n0100-adapted.jsonl").read_text())
    assert set(record) == {"cell", "numbers", "vectors", "check"}


def test_ctrl_c_while_a_cell_is_kept_loses_nothing(tmp_path, monkeypatch):
    """Ctrl-C right after the journal has the cell: merging empties the journal, so memory must have it by then."""
    real = os.fsync

    def interrupted(descriptor):
        real(descriptor)
        monkeypatch.undo()
        raise KeyboardInterrupt

    def run():
        with Store(tmp_path) as store:
            store.add(CELLS[0], outcome(0))
            monkeypatch.setattr("mrfbayes.paper.journal.os.fsync", interrupted)
            store.add(CELLS[1], outcome(1))

    with pytest.raises(KeyboardInterrupt):
        run()
    assert set(Store(tmp_path).outcomes) == set(CELLS[:2])


def full(*arguments):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_one_line_and_loses_nothing_that_was_kept(tmp_path, monkeypatch):
    def run():
        with Store(tmp_path) as store:
            store.add(CELLS[0], outcome(0))
            monkeypatch.setattr("mrfbayes.paper.journal.os.fsync", full)
            store.add(CELLS[1], outcome(1))

    with pytest.raises(mb.OutputError, match=r"No space left on device"):
        run()
    monkeypatch.undo()
    assert set(Store(tmp_path).outcomes) == {CELLS[0]}  # still in the journal
    assert sorted(path.name for path in tmp_path.iterdir()) == [JOURNAL, TIMINGS]
    with Store(tmp_path) as store:
        store.add(CELLS[1], outcome(1))
    assert set(Store(tmp_path).outcomes) == set(CELLS[:2])


def test_a_disk_that_is_full_for_a_moment_loses_nothing(tmp_path, monkeypatch):
    with Store(tmp_path) as store:
        with monkeypatch.context() as patched:
            patched.setattr("mrfbayes.paper.journal.os.fsync", full)
            with pytest.raises(mb.OutputError):
                store.add(CELLS[0], outcome(0))
        assert (tmp_path / JOURNAL).read_bytes() == b""
    assert set(Store(tmp_path).outcomes) == {CELLS[0]}


def test_committed_results_are_read_and_small():
    folder = PAPER / "results"
    found = Store(folder)
    assert found.outcomes
    files = list(folder.glob("*.jsonl"))
    assert sum(file.stat().st_size for file in files) < 20_000_000
    assert all(file.stat().st_size < 1_000_000 for file in files)
