"""Pages on large fields run, too."""

import pytest

from site_pages import LONG, name_of, run


@pytest.mark.parametrize("page", LONG, ids=name_of)
def test_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(page, {})
