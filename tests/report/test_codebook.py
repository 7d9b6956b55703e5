"""Texts of items beside their names."""

import pytest

import mrfbayes as mb
from mrfbayes.report.codebook import read_codebook
from report.page_cases import HOSTILE


def test_a_report_takes_texts_from_a_mapping_or_a_file(posterior, tmp_path):
    path = tmp_path / "items.csv"
    path.write_text(f'"{HOSTILE[4]}","Do you, at times, worry?"\nalone\n', encoding="utf-8-sig")
    assert read_codebook(path, posterior.model) == {HOSTILE[4]: "Do you, at times, worry?"}
    assert read_codebook(None, posterior.model) == {}
    assert read_codebook({}, posterior.model) == {}
    for k, given in enumerate((str(path), {HOSTILE[4]: "Do you, at times, worry?"})):
        page = mb.report(posterior, tmp_path / f"{k}.html", codebook=given, check=False)
        assert "Do you, at times, worry?" in page.read_text(encoding="utf-8")
    path.write_text("a," + "b" * 200_000)  # a cell longer than the csv module reads
    for given, said in ((tmp_path / "none.csv", "cannot be read"), (path, "cannot be read"), (3, "give a mapping")):
        with pytest.raises(mb.InputError, match=f"codebook = .*: {said}"):
            read_codebook(given, posterior.model)
    with pytest.raises(mb.InputError, match="codebook: none of its 1 names"):
        mb.report(posterior, tmp_path / "c.html", codebook={"x": "?"})
