"""The tables of the page, one formatter for all: rows for people, and all rows as data for sorting and for files."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from markupsafe import Markup

from mrfbayes.base.errors import CostError, InputError
from mrfbayes.model.wording import scale_name
from mrfbayes.report.wording import bayes_factor, decimals, interval, number, plural
from mrfbayes.results.centrality import NODE_MEASURES

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.report.findings import Findings

RARE_SHARE = 0.05  # share of all states but the commonest, below which a variable is called rare
LISTED_VARIABLES = 2_000  # whose shares are listed
PAGE_ROWS, WHOLE_ROWS = 25, 40  # rows that stand in the page before one asks for more; up to so many all of them do
LISTED_PARAMETERS = 40  # with the largest share of missing information
VERDICT_HINT = "present above a Bayes factor of 10, absent below 1/10; fragile: more draws could change it"
DIFFERENCE_WORDS = {"present": "differs", "absent": "alike"}
Cell = tuple[str, object]  # what is shown, and what is sorted by


class Heading(NamedTuple):
    """``kind`` is text, number, percent, probability, estimate, interval, factor, shares or verdict."""

    title: str
    kind: str = "number"
    hint: str = ""

    @property
    def style(self) -> str:
        """How the page draws it: numbers of all kinds look alike."""
        return "number" if self.kind in ("percent", "probability", "factor", "estimate") else self.kind


class PageTable(NamedTuple):
    """``bar`` is the range of the interval column: low, high, no interaction."""

    name: str
    caption: str
    columns: list[Heading]
    rows: list[list[Cell]]
    bar: tuple[float, float, float] | None = None

    @property
    def shown(self) -> list[list[Cell]]:
        """The rows that stand in the page without any script."""
        return self.rows[: self.page]

    @property
    def page(self) -> int:
        """How many rows are shown at first."""
        return len(self.rows) if len(self.rows) <= WHOLE_ROWS else PAGE_ROWS

    @property
    def data(self) -> Markup:
        """Everything as JSON that is harmless inside a script element."""
        table = {
            "columns": [{"title": c.title, "kind": c.style} for c in self.columns],
            "rows": [[list(cell) if cell[0] != cell[1] else cell[0] for cell in row] for row in self.rows],
            "bar": self.bar,
            "page": self.page,
        }
        return script_safe(table)


def script_safe(value: object) -> Markup:
    """JSON in which nothing can end the script element or begin a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def make_table(
    name: str, caption: str, frame: pd.DataFrame, columns: Mapping[str, Heading], digits: int = 2, neutral: float = 0.0
) -> PageTable:
    """``frame`` as people read it: its index, then ``columns`` by the name of their values.

    An estimate and an interval need the columns ``name_q5`` and ``name_q95`` (of "interval": q5 and q95), a verdict
    may have ``fragile`` and a factor ``bound`` beside it.
    """
    first = Heading(str(frame.index.name or "name").capitalize(), "text")
    rows = []
    for key, row in zip(frame.index, frame.to_dict("records"), strict=True):
        cells = [_text(key)]
        cells += [_FORMATS[heading.kind](row, column, digits) for column, heading in columns.items()]
        rows.append(cells)
    bar = None
    if "interval" in columns and len(frame):
        bar = (min(float(frame["q5"].min()), neutral), max(float(frame["q95"].max()), neutral), neutral)
        bar = bar if all(map(math.isfinite, bar)) else None
    return PageTable(name, caption, [first, *columns.values()], rows, bar)


Row = Mapping[str, object]


def _text(value: object) -> Cell:
    text = ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
    return (text.replace("--", " \u2013 "),) * 2


def _value(row: Row, column: str) -> float:
    value = row[column]
    return float(value) if isinstance(value, (Real, np.number, np.bool_)) else math.nan


def _ends(row: Row, column: str) -> tuple[float, float]:
    mark = "" if column == "interval" else f"{column}_"
    return _value(row, f"{mark}q5"), _value(row, f"{mark}q95")


def _interval(row: Row, column: str, digits: int) -> Cell:
    low, high = _ends(row, column)
    return interval(low, high, digits), [_digits(low), _digits(high)]


def _estimate(row: Row, column: str, digits: int) -> Cell:
    low, high = (number(end, digits) for end in _ends(row, column))
    return f"{number(_value(row, column), digits)} [{low}, {high}]", _digits(_value(row, column))


def _verdict(row: Row, column: str, digits: int) -> Cell:
    return _text(str(row[column]) + (", fragile" if row.get("fragile") else ""))


def _factor(row: Row, column: str, digits: int) -> Cell:
    return bayes_factor(_value(row, column), bool(row.get("bound", False))), _digits(_value(row, column))


def _plain(row: Row, column: str, digits: int) -> Cell:
    value = _value(row, column)
    text = f"{value:,.0f}" if isinstance(row[column], (int, np.integer)) else number(value, digits)
    return text, _digits(value)


def _percent(row: Row, column: str, digits: int) -> Cell:
    value = _value(row, column)
    return f"{value:.0%}" if math.isfinite(value) else "\u2013", _digits(value)


_FORMATS: dict[str, Callable[[Row, str, int], Cell]] = {
    "text": lambda row, column, digits: _text(row[column]),
    "number": _plain,
    "percent": _percent,
    "probability": lambda row, column, digits: _plain(row, column, 3),
    "estimate": _estimate,
    "interval": _interval,
    "factor": _factor,
    "verdict": _verdict,
}


def _digits(value: float) -> float | None:
    """Few enough digits that 20,000 rows stay small; JSON knows no NaN."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def edge_table(findings: Findings, name: str = "edges") -> PageTable:
    """Edges, the best supported first."""
    edges, is_search = findings.edges, findings.selection is not None
    neutral = 0.5 if findings.scale == "theta" else 0.0
    key = edges["log_bf10"].where(edges["log_bf10"].notna(), (edges["mean"] - neutral).abs())
    ordered = edges.loc[key.sort_values(ascending=False, kind="stable").index]
    sure = np.maximum(ordered["positive"], 1 - ordered["positive"])
    mean = Heading(scale_name(findings.model, findings.scale).split(" (0.5")[0], hint="posterior mean")
    span = Heading("90% interval", "interval", "the coupling lies here with a probability of 90%")
    columns = {"verdict": Heading("Verdict", "verdict", VERDICT_HINT)}
    if is_search:
        columns |= {
            "inclusion": Heading("P(edge)", "probability", "posterior probability that the edge is there"),
            "inclusion_error": Heading("Error", "probability", "Monte-Carlo standard error of the probability"),
        }
    columns |= {"mean": mean, "interval": span}
    if not is_search:
        columns["sign"] = Heading("P(sign)", "probability", "posterior probability that the coupling has its sign")
    hint = "posterior odds over prior odds of the edge, averaged over graphs" if is_search else "given all other edges"
    columns["log_bf10"] = Heading("Bayes factor", "factor", hint)
    what = plural(len(edges), "coupling" if findings.is_tied else "edge")
    return make_table(name, what, ordered.assign(sign=sure), columns, decimals(float(edges["sd"].median())), neutral)


def difference_table(findings: Findings) -> PageTable:
    """Edges with their difference between groups, the best supported first."""
    groups, table = findings.groups, findings.differences
    assert groups is not None
    assert table is not None
    table = table.rename_axis("edge")
    table["verdict"] = table["verdict"].replace(DIFFERENCE_WORDS)
    means = groups.means()
    columns = {
        "verdict": Heading("Verdict", "verdict", "differs above a Bayes factor of 10, alike below 1/10"),
        "inclusion": Heading("P(differs)", "probability", "posterior probability that the edge differs between groups"),
    }
    for name in groups.groups:
        table[f"in {name}"] = means.loc[table.index, name]
        columns[f"in {name}"] = Heading(name, hint="mean of the coupling in this group, in log-odds")
    if len(groups.groups) == 2:
        columns["mean"] = Heading("Difference", hint=f"{groups.groups[1]} less {groups.groups[0]}")
        columns["interval"] = Heading("90% interval", "interval", "of the difference")
    else:
        for first, second in groups.pairs:
            mark = f"[{groups.groups[second]} - {groups.groups[first]}]"
            title = f"{groups.groups[second]} less {groups.groups[first]}"
            for end in ("q5", "q95"):
                table[f"{title}_{end}"] = table[end + mark]
            table[title] = table["mean" + mark]
            columns[title] = Heading(title, "estimate", "difference with its 90% interval")
    columns["log_bf10"] = Heading("Bayes factor", "factor", "that the edge differs, against that it does not")
    width = next(name for name in table.columns if name.startswith("sd"))
    digits = decimals(float(table[width].median()))
    return make_table("differences", plural(len(table), "edge"), table, columns, digits)


def variable_table(findings: Findings) -> PageTable | None:
    """Every variable with the shares of its states; None where they are not known or there was one observation."""
    model, cells = findings.model, _state_weights(findings)
    if cells is None or model.n_nodes > LISTED_VARIABLES:
        return None
    labels = [variable.values for variable in findings.posterior.schema]
    holes = None if findings.statistics is None else findings.statistics.holes
    total = max(float(part.sum()) for part in cells) if holes is None else findings.posterior.n
    rows = []
    for name, weight, levels in zip(model.nodes, cells, labels, strict=True):
        share = weight / weight.sum()
        said = f"{share[1]:.0%}" if share.size == 2 else " \u00b7 ".join(f"{100 * part:.0f}" for part in share) + "%"
        alarm = "constant" if share.max() > 1 - 1e-12 else "rare" if np.sort(share)[-2] < RARE_SHARE else ""
        mean, absent = float(_scores(levels, share.size) @ share), float(total - weight.sum())
        row: list[Cell] = [_text(name), (said, share.round(4).tolist()), (number(mean), _digits(mean))]
        rows.append([*row, (f"{absent:,.0f}", absent), _text(alarm), _text(findings.codebook.get(name, ""))])
    columns = [
        Heading("Variable", "text"),
        Heading("Share of 1" if model.is_binary else "Shares of the states", "shares", "in the observations"),
        Heading("Mean", "number", "of levels that are numbers; else states count from 0"),
        Heading("Missing", "number", "cells"),
        Heading("Remark", "text", f"rare: all states but one make up less than {RARE_SHARE:.0%}"),
        Heading("Text", "text"),
    ]
    kept = [0, 1, *([] if model.is_binary else [2])]
    kept += [k for k in (3, 4, 5) if any(row[k][0] not in ("", "0") for row in rows)]
    return PageTable(
        "variables", f"{len(rows):,} variables", [columns[k] for k in kept], [[row[k] for k in kept] for row in rows]
    )


def _state_weights(findings: Findings) -> list[np.ndarray] | None:
    """Per variable the weight of each observed state; None where that is not known, or of one observation."""
    model, observed, statistics = findings.model, findings.posterior._observed, findings.statistics
    ends = np.cumsum(model.states)[:-1]
    if observed is not None and observed.shares.size and observed.n >= 2:
        return np.split(observed.shares * observed.n, ends)
    if statistics is None or statistics.holes is None:
        return None
    cells, offset = statistics.holes.seen_cells(model), model.lowering.node_offset
    found = [cells[offset[node] : offset[node] + states].copy() for node, states in enumerate(model.states.tolist())]
    for node, weights in enumerate(found):
        if len(statistics.rows):
            weights += np.bincount(statistics.rows[:, node], statistics.row_weights, minlength=weights.size)
    return found


def _scores(levels: tuple[object, ...] | None, states: int) -> np.ndarray:
    """The levels themselves where they are numbers, so that means are on the scale of the questionnaire."""
    is_numeric = levels is not None and all(isinstance(level, Real) for level in levels)
    return np.array(levels, dtype=float) if is_numeric and len(levels or ()) == states else np.arange(float(states))


def node_tables(findings: Findings) -> list[PageTable]:
    """Nodes, those that the others predict best first; then their centrality, the strongest first."""
    nodes, found = findings.nodes, []
    scale = "h" if findings.scale == "ising" else findings.scale
    columns = {
        "community": Heading("Community", hint="of the network, by modularity"),
        "community_certainty": Heading("Certainty", "percent", "mean posterior co-membership with its community"),
        "threshold_mean": Heading(
            f"Threshold ({scale})", hint="the node's own factor: its log-odds if all else is zero"
        ),
        "accuracy": Heading("Predicted", "percent", "share of rows whose state the other nodes name"),
        "accuracy_alone": Heading("Alone", "percent", "share that naming the commonest state reaches"),
        "log_score_gain": Heading("Log-score gain", "estimate", "nats per row that the other nodes add"),
    }
    if "community" in nodes and nodes["community"].max() < 2:
        columns = {name: heading for name, heading in columns.items() if not name.startswith("community")}
    columns = {name: heading for name, heading in columns.items() if name in nodes}
    if columns:
        by = "log_score_gain" if "log_score_gain" in nodes else next(iter(columns))
        ordered = nodes.sort_values(by, ascending=False, kind="stable")
        found.append(make_table("nodes", f"{len(nodes):,} nodes", ordered, columns))
    measures = {
        name: Heading(name.replace("_", " ").capitalize(), "estimate", "posterior mean [90% interval]")
        for name in NODE_MEASURES
        if name in nodes
    }
    if measures:
        measures["strength_first"] = Heading("P(strongest)", "probability", "that its strength is the largest")
        ordered = nodes.sort_values("strength", ascending=False, kind="stable")
        found.append(make_table("centrality", f"Centrality of {len(nodes):,} nodes", ordered, measures))
    return found


def sensitivity_page_table(findings: Findings) -> PageTable | None:
    """Verdicts by prior."""
    table = findings.sensitivity
    if table is None:
        return None
    names = {"slab": "Prior of an edge", "graphs": "Prior over graphs", "present": "Supported", "absent": "Ruled out"}
    columns = {}
    for name in ("graphs", "present", "undecided", "absent", "fragile", "changed"):
        if name != "graphs" or table["graphs"].any():
            kind = "text" if name == "graphs" else "number"
            columns[name] = Heading(names.get(name, name.capitalize()), kind)
    frame = table.set_index("slab").rename_axis("prior of an edge")
    return make_table("sensitivity", "Verdicts by prior; the first row is the one of this report", frame, columns)


def graph_table(findings: Findings, least: float) -> PageTable | None:
    """Up to ten graphs, where one of them has a probability of at least ``least``."""
    if findings.selection is None:
        return None
    graphs = findings.selection.graphs(10)
    graphs = graphs[graphs["probability"] >= least]
    if not len(graphs):
        return None
    columns = {
        "probability": Heading("Probability", "probability"),
        "number": Heading("Edges"),
        "edges": Heading("Which", "text"),
    }
    return make_table("graphs", plural(len(graphs), "most probable graph"), graphs, columns)


def strength_table(findings: Findings) -> PageTable | None:
    """Global strength of the network, and of each group and of their differences."""
    import pandas as pd

    from mrfbayes.results.centrality import global_strength

    if findings.couplings is None:
        return None
    rows = {"all rows": global_strength(findings.couplings)}
    if findings.groups is not None:
        rows |= findings.groups.global_strength().to_dict("index")
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("network")
    columns = {"global_strength": Heading("Global strength", "estimate", "sum of the sizes of all couplings")}
    if "positive" in frame:
        columns["positive"] = Heading("P(positive)", "probability", "of a difference")
    return make_table("global-strength", "Global strength [90% interval]", frame, columns)


def sum_table(findings: Findings) -> PageTable | None:
    """Shares of rows with each sum score: observed, and in data simulated from the posterior."""
    check = findings.predictive
    if check is None:
        return None
    frame = check.table[[str(name).startswith("sum ") for name in check.table.index]]
    if not len(frame):
        return None
    frame = frame.set_index(frame.index.str.removeprefix("sum ")).rename_axis("sum score")
    columns = {
        "observed": Heading("Observed", "probability", "share of the rows"),
        "replicated": Heading("Expected", "probability", "mean share in data simulated from the posterior"),
        "replicated_sd": Heading("SD", "probability", "of that share between simulated data sets"),
        "p_value": Heading("p", "probability", "two-sided posterior predictive tail probability"),
    }
    return make_table("sum-scores", "Sum scores, observed and expected", frame, columns)


def information_table(findings: Findings) -> PageTable | None:
    """The parameters that missing cells took most information from."""
    source = findings.posterior if findings.saturated is None else findings.saturated.posterior
    if source.facts.missing is None:
        return None
    try:
        series = source.missing_information()
    except (InputError, CostError) as reason:
        findings.missing["missing information"] = str(reason)
        return None
    frame = series.sort_values(ascending=False).head(LISTED_PARAMETERS).to_frame("share")
    heading = Heading("Information lost", "percent", "share of the information that missing cells took away")
    return make_table("missing-information", f"Missing information, {len(frame)} parameters", frame, {"share": heading})


def frame_table(name: str, caption: str, frame: pd.DataFrame) -> PageTable:
    """Any table, as it is."""
    columns = {}
    for column in frame.columns:
        kind = "verdict" if column == "verdict" else "number" if frame[column].dtype.kind in "iuf" else "text"
        columns[str(column)] = Heading(str(column).replace("_", " "), kind)
    return make_table(name, caption, frame, columns, digits=3)
