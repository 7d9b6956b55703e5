"""The tables of the page, one formatter for all: rows for people, and all rows as data for sorting and for files."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup

from mrfbayes.base.errors import InputError
from mrfbayes.model.scales import scale_name
from mrfbayes.report.wording import bayes_factor, decimals, interval, number, plural
from mrfbayes.results.centrality import global_strength, node_measures, order_table
from mrfbayes.structure.problem import edge_factors

if TYPE_CHECKING:
    from mrfbayes.report.findings import Findings

RARE_SHARE = 0.05  # share of all states but the commonest, below which a variable is called rare
LISTED_VARIABLES = 2_000  # whose shares are listed
PAGE_ROWS, WHOLE_ROWS = 25, 40  # rows that stand in the page before one asks for more; up to so many all of them do
ORDER_ROWS = 20  # edges whose order is tested
LISTED_PARAMETERS = 40  # with the largest share of missing information
INTERVAL_SDS = 3.29  # width of a 90% interval of a normal distribution in sds
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


@cache
def _all_headings() -> dict[str, dict[str, Heading]]:
    text = resources.files("mrfbayes.report").joinpath("tables.toml").read_text(encoding="utf-8")
    return {table: {name: Heading(*row) for name, row in part.items()} for table, part in tomllib.loads(text).items()}


def headings(table: str, frame: pd.DataFrame, **titles: str) -> dict[str, Heading]:
    """The columns that `tables.toml` has for a table, as far as ``frame`` has their values; some with other titles."""
    known = set(frame.columns) | ({"interval"} if "q5" in frame else set())
    return {
        name: heading._replace(title=titles.get(name, heading.title))
        for name, heading in _all_headings()[table].items()
        if name in known
    }


def make_table(
    name: str, caption: str, frame: pd.DataFrame, columns: Mapping[str, Heading], digits: int = 2, neutral: float = 0.0
) -> PageTable:
    """``frame`` as people read it: its index, then ``columns`` by the name of their values.

    An estimate and an interval need the columns ``name_q5`` and ``name_q95`` (of "interval": q5 and q95), a verdict
    may have ``fragile`` and a factor ``bound`` beside it. An estimate has the digits that its own interval allows.
    """
    first = Heading(str(frame.index.name or "name").capitalize(), "text")
    shown = {
        column: decimals(float((frame[f"{column}_q95"] - frame[f"{column}_q5"]).median()) / INTERVAL_SDS)
        for column, heading in columns.items()
        if heading.kind == "estimate"
    }
    rows = []
    for key, row in zip(frame.index, frame.to_dict("records"), strict=True):
        cells = (format_cell(heading.kind, row, name, shown.get(name, digits)) for name, heading in columns.items())
        rows.append([_text(key), *cells])
    bar = None
    if "interval" in columns and len(frame):
        bar = (min(float(frame["q5"].min()), neutral), max(float(frame["q95"].max()), neutral), neutral)
        bar = bar if all(map(math.isfinite, bar)) else None
    return PageTable(name, caption, [first, *columns.values()], rows, bar)


def _listed(name: str, caption: str, frame: pd.DataFrame) -> list[PageTable]:
    """The table of that name in `tables.toml`; none without rows."""
    return [make_table(name, caption, frame, headings(name, frame))] if len(frame) else []


Row = Mapping[str, object]


def _text(value: object) -> Cell:
    text = ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
    return (text.replace("--", " \u2013 "),) * 2


def _value(row: Row, column: str) -> float:
    value = row.get(column)
    return float(value) if isinstance(value, (Real, np.number, np.bool_)) else math.nan


def format_cell(kind: str, row: Row, column: str, digits: int) -> Cell:
    """What is shown of a value, and what it is sorted by; see `Heading` for the kinds."""
    mark = "" if kind == "interval" else f"{column}_"
    value, low, high = (_value(row, name) for name in (column, f"{mark}q5", f"{mark}q95"))
    if kind == "interval":
        return interval(low, high, digits), [_digits(low), _digits(high)]
    if kind == "shares":
        share = np.asarray(row[column])
        text = f"{share[1]:.0%}" if share.size == 2 else " \u00b7 ".join(f"{100 * part:.0f}" for part in share) + "%"
        return text, share.round(4).tolist()
    if kind == "text":
        return _text(row[column])
    if kind == "verdict":
        return _text(str(row[column]) + (", fragile" if row.get("fragile") else ""))
    if kind == "factor":
        text = bayes_factor(value, bool(row.get("bound", False)))
    elif kind == "percent":
        text = f"{value:.0%}" if math.isfinite(value) else "\u2013"
    elif isinstance(row[column], (int, np.integer)):
        text = f"{value:,.0f}"
    else:
        text = number(value, 3 if kind == "probability" else digits)
    if kind == "estimate":
        text += f" [{number(low, digits)}, {number(high, digits)}]"
    return text, _digits(value)


def _digits(value: float) -> float | None:
    """Few enough digits that 20,000 rows stay small; JSON knows no NaN."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def edge_table(findings: Findings, name: str = "edges") -> PageTable:
    """Edges, the best supported first."""
    edges, neutral = findings.edges, findings.neutral
    key = edges["log_bf10"].where(edges["log_bf10"].notna(), (edges["mean"] - neutral).abs())
    ordered = edges.loc[key.sort_values(ascending=False, kind="stable").index]
    if findings.selection is None:
        ordered = ordered.assign(sign=np.maximum(ordered["positive"], 1 - ordered["positive"]))
    columns = headings("edges", ordered, mean=scale_name(findings.model, findings.scale).split(" (0.5")[0])
    what = plural(len(edges), "coupling" if findings.is_tied else "edge")
    return make_table(name, what, ordered, columns, decimals(float(edges["sd"].median())), neutral)


def difference_table(findings: Findings) -> PageTable:
    """Edges with their difference between groups, the best supported first."""
    groups, table = findings.groups, findings.differences
    assert groups is not None
    assert table is not None
    table = table.rename_axis("edge")
    table["verdict"] = table["verdict"].replace(DIFFERENCE_WORDS)
    known, means = headings("differences", table.assign(in_group=0.0, pair=0.0)), groups.means()
    columns: dict[str, Heading] = {}
    for column, heading in known.items():
        if column == "in_group":
            for name in groups.groups:
                table[f"in {name}"] = means.loc[table.index, name]
                columns[f"in {name}"] = heading._replace(title=name)
        elif column != "pair":
            columns[column] = heading
        elif len(groups.pairs) > 1:
            for pair in groups.pairs:
                first, second = (groups.groups[k] for k in pair)
                title = f"{second} less {first}"
                for end, value in (("", "mean"), ("_q5", "q5"), ("_q95", "q95")):
                    table[title + end] = table[f"{value}[{second} - {first}]"]
                columns[title] = heading._replace(title=title)
    width = next(name for name in table.columns if name.startswith("sd"))
    digits = decimals(float(table[width].median()))
    return make_table("differences", plural(len(table), "edge"), table, columns, digits)


def variable_table(findings: Findings) -> PageTable | None:
    """Every variable with the shares of its states; None where they are not known or there was one observation."""
    model, cells = findings.model, _state_weights(findings)
    if cells is None or model.n_nodes > LISTED_VARIABLES:
        return None
    has_missing = findings.statistics is not None and findings.statistics.incomplete is not None
    total = findings.posterior.n if has_missing else max(float(part.sum()) for part in cells)
    rows = []
    for name, weight, variable in zip(model.nodes, cells, findings.posterior.schema, strict=True):
        share = weight / weight.sum()
        row = {"shares": share, "mean": float(_scores(variable.values, share.size) @ share)}
        row |= {"missing": round(float(total - weight.sum())), "text": findings.codebook.get(name, "")}
        row["remark"] = "constant" if share.max() > 1 - 1e-12 else "rare" if np.sort(share)[-2] < RARE_SHARE else ""
        rows.append(row)
    frame = pd.DataFrame(rows, index=pd.Index(model.nodes, name="variable"))
    frame = frame.drop(columns=[name for name in ("missing", "remark", "text") if not frame[name].any()])
    if model.is_binary:
        frame = frame.drop(columns="mean")
    columns = headings("variables", frame, **({"shares": "Share of 1"} if model.is_binary else {}))
    return make_table("variables", f"{len(frame):,} variables", frame, columns)


def _state_weights(findings: Findings) -> list[np.ndarray] | None:
    """Per variable the weight of each observed state; None where that is not known, or of one observation."""
    model, observed, statistics = findings.model, findings.posterior._observed, findings.statistics
    ends = np.cumsum(model.states)[:-1]
    if observed is not None and observed.shares.size and observed.n >= 2:
        return np.split(observed.shares * observed.n, ends)
    if statistics is None or statistics.incomplete is None:
        return None
    cells, offset = statistics.incomplete.seen_cells(model), model.lowering.node_offset
    found = [cells[offset[node] : offset[node] + states].copy() for node, states in enumerate(model.states.tolist())]
    if len(statistics.rows):
        for node, weights in enumerate(found):
            weights += np.bincount(statistics.rows[:, node], statistics.row_weights, minlength=weights.size)
    elif statistics.n:  # a loaded result keeps the counts of its complete rows
        try:
            complete = edge_factors(model).state_counts(statistics.counts, statistics.n)
        except InputError:
            return None
        return None if any(part is None for part in complete) else [a + b for a, b in zip(found, complete, strict=True)]
    return found


def _scores(levels: tuple[object, ...] | None, states: int) -> np.ndarray:
    """The levels themselves where they are numbers, so that means are on the scale of the questionnaire."""
    is_numeric = levels is not None and all(isinstance(level, Real) for level in levels)
    return np.array(levels, dtype=float) if is_numeric and len(levels or ()) == states else np.arange(float(states))


def node_tables(findings: Findings) -> list[PageTable]:
    """Nodes, those that the others predict best first; then their centrality, the strongest first."""
    nodes, found = findings.nodes, []
    scale = "h" if findings.scale == "ising" else findings.scale
    columns = headings("nodes", nodes, threshold_mean=f"Threshold ({scale})")
    if "community" in nodes and nodes["community"].max() < 2:
        columns = {name: heading for name, heading in columns.items() if not name.startswith("community")}
    if columns:
        by = "log_score_gain" if "log_score_gain" in nodes else next(iter(columns))
        ordered = nodes.sort_values(by, ascending=False, kind="stable")
        found.append(make_table("nodes", f"{len(nodes):,} nodes", ordered, columns))
    if "strength" in nodes:
        ordered = nodes.sort_values("strength", ascending=False, kind="stable")
        found += _listed("centrality", f"Centrality of {len(nodes):,} nodes", ordered)
    return found


def sensitivity_tables(findings: Findings) -> list[PageTable]:
    """Verdicts by prior."""
    if findings.sensitivity is None:
        return []
    frame = findings.sensitivity.set_index("slab").rename_axis("prior of an edge")
    if not frame["graphs"].any():
        frame = frame.drop(columns="graphs")
    return _listed("sensitivity", "Verdicts by prior; the first row is the one of this report", frame)


def graph_tables(findings: Findings, least: float) -> list[PageTable]:
    """Up to ten graphs, those with a probability of at least ``least``."""
    if findings.selection is None:
        return []
    graphs = findings.selection.graphs(10)
    graphs = graphs[graphs["probability"] >= least]
    return _listed("graphs", plural(len(graphs), "most probable graph"), graphs)


def strength_tables(findings: Findings) -> list[PageTable]:
    """Global strength of the network, and of each group and of their differences."""
    if findings.couplings is None or not findings.is_judged:
        return []
    name = "all rows" if findings.selection is None else "all rows, average over graphs"
    rows = {name: global_strength(findings.couplings)}
    if findings.groups is not None:
        rows |= {f"{name}, all edges": row for name, row in findings.groups.global_strength().to_dict("index").items()}
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("network")
    return _listed("global-strength", "Global strength [90% interval]", frame)


def order_tables(findings: Findings) -> list[PageTable]:
    """P(row above column) of the strengths of nodes and of the sizes of supported edges: tests of differences."""
    if findings.couplings is None:
        return []
    orders = {"node-differences": node_order(findings), "edge-differences": edge_order(findings)}
    return [
        make_table(name, "P(row above column)", frame, {key: Heading(_text(key)[0], "probability") for key in frame})
        for name, frame in orders.items()
        if len(frame) > 1
    ]


def node_order(findings: Findings) -> pd.DataFrame:
    """P(row above column) of the nodes' strengths, the strongest first."""
    assert findings.couplings is not None
    strength = node_measures(findings.model, findings.couplings)["strength"]
    place = np.argsort(-strength.mean(axis=0), kind="stable")
    return order_table(strength[:, place], [findings.model.nodes[k] for k in place])


def edge_order(findings: Findings, most: int = ORDER_ROWS) -> pd.DataFrame:
    """P(row above column) of the sizes of the strongest supported edges."""
    assert findings.couplings is not None
    size = np.abs(findings.couplings)
    there = np.flatnonzero((findings.edges["verdict"] == "present").to_numpy())
    place = there[np.argsort(-size.mean(axis=0)[there], kind="stable")][:most]
    return order_table(size[:, place], [str(findings.edges.index[k]) for k in place])


def sum_tables(findings: Findings) -> list[PageTable]:
    """Shares of rows with each sum score: observed, and in data simulated from the posterior."""
    if findings.predictive is None:
        return []
    frame = findings.predictive.table
    frame = frame[frame.index.str.startswith("sum ")]
    frame = frame.set_index(frame.index.str.removeprefix("sum ")).rename_axis("sum score")
    return _listed("sum-scores", "Sum scores, observed and expected", frame)


def information_tables(findings: Findings) -> list[PageTable]:
    """The parameters that missing cells took most information from."""
    source = findings.posterior if findings.saturated is None else findings.saturated.posterior
    if source.facts.missing is None:
        return []
    series = findings.attempt("missing information", source.missing_information)
    if series is None:
        return []
    frame = series.sort_values(ascending=False).head(LISTED_PARAMETERS).to_frame("share")
    return _listed("missing-information", f"Missing information, {len(frame)} parameters", frame)


def frame_table(name: str, caption: str, frame: pd.DataFrame) -> PageTable:
    """Any table, as it is."""
    kinds = {str(one): "number" if dtype.kind in "iuf" else "text" for one, dtype in frame.dtypes.items()}
    kinds |= {"verdict": "verdict"} if "verdict" in frame else {}
    columns = {one: Heading(one.replace("_", " "), kind) for one, kind in kinds.items()}
    return make_table(name, caption, frame, columns, digits=3)
