"""A table as people have it goes from file to report by one command and by one call, with the same numbers."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import mrfbayes as mb
from mrfbayes.cli.app import app


@pytest.fixture
def answers(tmp_path):
    """Ids, a group column, labels in words, blanks, -99 and mixed levels, written as Excel does."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=80)

    def item(k):
        return np.digitize(z + rng.normal(size=80), np.linspace(-1.2, 1.2, k - 1))

    table = pd.DataFrame(
        {
            "id": [f"p{k}" for k in range(80)],
            "language": rng.choice(["de", "en"], 80),
            "sleep": item(5) + 1,
            "mood": np.array(["never", "rarely", "often"])[item(3)],
            "ill": np.array(["no", "yes"])[item(2)],
            "region": np.array(["south", "coast", "north"])[item(3)],
        }
    )
    table.loc[3, "sleep"], table.loc[7, "mood"] = -99, ""
    path = tmp_path / "answers.csv"
    path.write_text("sep=;\n" + table.to_csv(index=False, sep=";"))
    return path


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_one_command_and_one_call_agree(answers, tmp_path):
    out = tmp_path / "out"
    options = [
        "--drop",
        "id",
        "--na",
        "-99",
        "--group",
        "language",
        "--select",
        "--method",
        "calibrated",
        "--chains",
        "2",
    ]
    done = CliRunner().invoke(app, ["fit", str(answers), *options, "--out", str(out)])
    assert done.exit_code == 0, done.output
    data = mb.Data(answers, drop=["id"], na_values=[-99], group="language")
    found = mb.fit(data, select=True, method="calibrated", chains=2, progress=False)
    saved = mb.load(out / "posterior.nc")
    np.testing.assert_array_equal(found.posterior.draws, saved.draws)
    assert saved.schema == found.schema == data.schema
    assert [variable.kind for variable in data.schema] == ["ordinal", "ordinal", "binary", "nominal"]
    graphs = mb.load(out / "graphs.nc")
    np.testing.assert_array_equal(graphs.inclusion, found.selection.inclusion)
    assert graphs.edges().loc["sleep--region", "inclusion"] == graphs.inclusion[2]
    groups = mb.load(out / "groups.nc")
    np.testing.assert_array_equal(groups.inclusion, found.groups.inclusion)
    assert groups.schema == data.schema
    page = found.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "rarely" in page
    assert "coast" in page
    found.save(tmp_path / "again")
    assert {path.name for path in (tmp_path / "again").iterdir()} == {path.name for path in out.iterdir()} - {
        "settings.toml"
    }
    again = mb.load(tmp_path / "again")
    assert again.groups.group_n == found.groups.group_n
    assert repr(found).startswith(f"<Fit: {data!r}, ")
    assert "None" not in repr(again)
    assert repr(again) == f"<Fit: data {found.source}, {again.posterior!r}, selection, groups>"


def test_identifiers_and_codes_are_refused_in_one_message(answers, tmp_path):
    done = CliRunner().invoke(app, ["fit", str(answers), "--out", str(tmp_path / "out")])
    assert isinstance(done.exception, mb.InputError)
    assert "--drop id" in str(done.exception)
    assert "--na -99" in str(done.exception)
    assert not (tmp_path / "out").exists()
