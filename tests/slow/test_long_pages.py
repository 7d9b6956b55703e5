"""Pages on large fields run, too."""

import pytest

from test_pages import LONG, name_of, outputs


@pytest.mark.parametrize("page", LONG, ids=name_of)
def test_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert outputs(page.read_text(encoding="utf-8"), {})
