"""Selection and groups on tables of mixed kinds: against enumeration, and under other orders of labels."""

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.model.schema import Schema, Variable
from oracles_mixed import (
    CELLS,
    ILL,
    MIXED,
    MOOD,
    TOWN,
    averaged,
    difference_evidence,
    graph_evidence,
    labelled,
    statistics,
    with_holes,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(11)
    w = np.array([0.0, 0.9, -0.6, 0.3, -0.2, 0.1, 0.25, -0.3, 0.2, -0.2, 0.1, 0.4])
    p = np.exp(statistics(is_centred=False) @ w)
    return CELLS[rng.choice(18, size=150, p=p / p.sum())]


@pytest.fixture(scope="module")
def enumerated(rows):
    return averaged(lambda graph, rng: graph_evidence(labelled(rows), graph, rng), np.random.default_rng(12))


def choose(schema, rows, **options):
    table = rows if isinstance(rows, pd.DataFrame) else labelled(rows)
    model = mb.Model.from_data(schema)
    return mb.select(model, table, draws=2_000, thin=2, chains=2, rng=5, progress=False, **options)


@pytest.fixture(scope="module")
def selected(rows):
    return choose(MIXED, rows)


def standard_distance(result, expected, error):
    return np.abs((result.inclusion - expected) / np.hypot(result.inclusion_error, error)).max()


def test_inclusion_of_tables_is_that_of_all_graphs(selected, enumerated):
    assert selected.target == "exact"
    assert standard_distance(selected, *enumerated) < 5
    assert 0.05 < enumerated[0].min() < 0.95  # something is undecided, so that the test can fail
    wrong = enumerated[0] * 0.9
    assert standard_distance(selected, wrong, enumerated[1]) > 5


def test_recursion_agrees_with_enumeration(rows, enumerated):
    assert standard_distance(choose(MIXED, rows, engine="recursion"), *enumerated) < 5


def test_particles_agree_with_enumeration(rows, enumerated):
    assert standard_distance(choose(MIXED, rows, engine="particles"), *enumerated) < 5


@pytest.mark.filterwarnings("ignore:.* missing at random")
def test_missing_cells_are_summed_out(rows, enumerated):
    table = with_holes(rows)
    found = choose(MIXED, table)
    expected = averaged(lambda graph, rng: graph_evidence(table, graph, rng), np.random.default_rng(14))
    assert standard_distance(found, *expected) < 5
    assert standard_distance(found, *enumerated) > 5  # of the table without holes


def test_renaming_labels_changes_nothing(rows, selected):
    towns = {"Bern": "z", "Lima": "y", "Oslo": "x"}
    schema = Schema((ILL, MOOD, Variable("town", "nominal", tuple(towns.values()))))
    again = choose(schema, labelled(rows).replace({"town": towns}))
    np.testing.assert_array_equal(again.inclusion, selected.inclusion)
    np.testing.assert_array_equal(again.log_odds, selected.log_odds)


def test_absent_tables_are_zero_in_all_cells(selected):
    offset = selected.model.chart.offset
    for edge in range(3):
        cells = selected.log_odds[..., offset[edge] : offset[edge + 1]]
        there = selected.included[..., edge]
        assert (cells[~there] == 0).all()
        assert (cells[there] != 0).all()
    shares = selected.included.mean(axis=(0, 1))
    np.testing.assert_allclose(shares, selected.inclusion, atol=0.06)


def test_edges_show_norms_and_cells_show_labels(selected):
    edges, cells = selected.edges(), selected.summary()
    assert list(edges.index) == ["ill--mood", "ill--town", "mood--town"]
    assert edges.loc["mood--town", "mean"] > 0
    assert "mood--town[high,Oslo]" in cells.index
    inside = cells.index.str.startswith("mood--town")
    assert (cells.loc[inside, "inclusion"] == edges.loc["mood--town", "inclusion"]).all()
    assert np.isnan(cells["inclusion"].iloc[-1])  # of a threshold


def other_order(w, order):
    """The same field at log-odds (12,) as log-odds of a model whose towns are in another order."""
    place, found = list(order), np.array(w)
    for cells in (slice(1, 3), slice(3, 7)):
        table = np.pad(w[cells].reshape(-1, 2), ((1, 0), (1, 0)))[:, place]
        found[cells] = (table - table[:, :1])[1:, 1:].ravel()
    thresholds = np.pad(w[10:], (1, 0))[place]
    found[10:] = (thresholds - thresholds[0])[1:]
    return found


@pytest.mark.parametrize("order", [(1, 2, 0), (2, 1, 0), (0, 2, 1)])
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.filterwarnings("ignore:.* missing at random")
def test_log_density_does_not_depend_on_the_order_of_labels(rows, order, hidden):
    schema = Schema((ILL, MOOD, Variable("town", "nominal", tuple(TOWN.values[k] for k in order))))
    table = with_holes(rows) if hidden else labelled(rows)
    one, two = (mb.target(mb.Model.from_data(coding), table) for coding in (MIXED, schema))
    w = np.random.default_rng(1).normal(size=(20, 12))
    values = np.array([[one.log_density(v), two.log_density(other_order(v, order))] for v in w])
    np.testing.assert_allclose(values[:, 0], values[:, 1], rtol=0, atol=1e-10)
    assert abs(one.log_density(w[0]) - two.log_density(w[0])) > 0.1  # the same numbers are another field


@pytest.mark.parametrize("order", [(1, 2, 0), (2, 1, 0)])
def test_result_does_not_depend_on_the_order_of_labels(rows, selected, order):
    labels = tuple(TOWN.values[k] for k in order)
    again = choose(Schema((ILL, MOOD, Variable("town", "nominal", labels))), rows)
    error = np.hypot(selected.inclusion_error, again.inclusion_error)
    assert (np.abs(again.inclusion - selected.inclusion) < 5 * error).all()
    one, two = selected.edges()["mean"], again.edges()["mean"]
    np.testing.assert_allclose(two, one, atol=0.08)


def test_tables_refuse_slabs_that_single_out_a_category(rows):
    with pytest.raises(mb.InputError, match=r"slab = .*ill--town"):
        choose(MIXED, rows, slab="cauchy(0, 1)")


def test_groups_differ_by_whole_tables(rows):
    """Turning the towns of the ill around in one group changes the table of ill and town, as a whole."""
    model = mb.Model.from_data(MIXED)
    rng = np.random.default_rng(3)
    a, b = rows, rows[rng.permutation(len(rows))][:120].copy()
    b[:, 2] = np.where(b[:, 0] == 1, (b[:, 2] + 1) % 3, b[:, 2])
    a, b = labelled(a), labelled(b)
    found = mb.compare_groups(model, {"a": a, "b": b}, draws=2_000, chains=2, rng=1, progress=False)
    table = found.summary()
    assert found.inclusion[1] > 0.9
    assert found.inclusion[0] < 0.6
    cells = [name for name in table.index if name.startswith("ill--town[")]
    assert len(cells) == 2
    assert table.loc[cells, "inclusion"].nunique() == 1
    three = mb.compare_groups(model, {"a": a, "b": b, "c": a[::2]}, draws=1_000, chains=2, rng=1, progress=False)
    assert three.inclusion[1] > 0.8


def test_differences_of_tables_are_those_of_all_subsets(rows):
    """Two groups; which edges differ by the evidence of all eight sets of differing edges."""
    b = rows[:90].copy()
    b[::3, 2] = (b[::3, 2] + b[::3, 0]) % 3
    tables = {"a": labelled(rows), "b": labelled(b)}
    model = mb.Model.from_data(MIXED)
    found = mb.compare_groups(model, tables, draws=2_000, thin=2, chains=2, rng=1, progress=False)
    evidence = averaged(
        lambda graph, rng: difference_evidence(list(tables.values()), graph, rng), np.random.default_rng(15)
    )
    assert standard_distance(found, *evidence) < 5
    assert standard_distance(found, evidence[0] * 0.8, evidence[1]) > 5
