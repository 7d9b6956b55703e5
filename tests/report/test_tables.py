"""Tables of the page against the numbers of the posterior."""

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.report.findings import Findings
from mrfbayes.report.tables import edge_order, edge_table, variable_table
from mrfbayes.report.wording import decimals


def test_probabilities_of_signs_and_shares_of_ones_are_not_inverted(posterior):
    findings = Findings(posterior, check=False)
    table = edge_table(findings)
    place = [heading.title for heading in table.columns].index("P(sign)")
    positive = (posterior.log_odds[..., :10] > 0).mean(axis=(0, 1))
    expected = dict(zip(findings.edges.index, np.maximum(positive, 1 - positive), strict=True))
    for row in table.rows:
        assert row[place][1] == pytest.approx(expected[row[0][0].replace(" \u2013 ", "--")], abs=1e-4)
    ones = posterior._observed.shares.reshape(-1, 2)[:, 1]
    shares = [row[1] for row in variable_table(findings).rows]
    assert [text for text, _ in shares] == [f"{share:.0%}" for share in ones]
    np.testing.assert_allclose([parts[1] for _, parts in shares], ones, atol=1e-4)


def test_estimates_have_the_digits_of_their_own_intervals(posterior):
    from mrfbayes.report.tables import node_tables

    table = node_tables(Findings(posterior, check=False))[1]
    titles = [heading.title for heading in table.columns]
    for title, measure in (("Strength", "strength"), ("Closeness", "closeness")):
        nodes = posterior.centrality(scale="log-odds")
        width = (nodes[f"{measure}_q95"] - nodes[f"{measure}_q5"]).median() / 3.29
        text = table.rows[0][titles.index(title)][0]
        assert len(text.split(" ")[0].partition(".")[2]) == decimals(float(width))


def test_a_loaded_result_counts_states_and_missing_cells_as_before(tmp_path):
    rng = np.random.default_rng(8)
    x = rng.integers(0, 3, (80, 3)).astype(float)
    x[:9, 0], x[5:7, 2] = np.nan, np.nan
    data = mb.Data(pd.DataFrame(x, columns=list("abc")))
    posterior = mb.sample(mb.Model.from_data(data), data, progress=False, rng=1)
    posterior.save(tmp_path / "result.nc")
    made, loaded = (variable_table(Findings(one)) for one in (posterior, mb.load(tmp_path / "result.nc")))
    assert loaded.rows == made.rows
    assert [row[-1][1] for row in made.rows] == [9, 0, 2]


@pytest.mark.parametrize("present", [0, 1])
def test_a_fit_is_saved_where_no_edge_or_one_is_supported(present, tmp_path):
    x = np.random.default_rng(1).integers(0, 2, (100, 4))
    x[:80, 1] = x[:80, 1 - present]
    found = mb.fit(x, rng=1, progress=False)
    found.save(tmp_path / "out")
    assert edge_order(found.findings).shape == (present, present)
    assert {"tables.xlsx", "tables.tex", "report.html", "posterior.nc"} <= {
        file.name for file in tmp_path.glob("out/*")
    }
