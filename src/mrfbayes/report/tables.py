"""The tables of the page: rows for people in HTML, and all rows as data for sorting and searching."""

from __future__ import annotations

import json
import math
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from markupsafe import Markup

from mrfbayes.model.wording import scale_name
from mrfbayes.report.wording import bayes_factor, decimals, interval, number, plural

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.report.findings import Findings

RARE_SHARE = 0.05  # share of all states but the commonest, below which a variable is called rare
LISTED_VARIABLES = 2_000  # whose shares are listed
PAGE_ROWS, WHOLE_ROWS = 25, 40  # rows that stand in the page before one asks for more; up to so many all of them do


class Heading(NamedTuple):
    """``kind`` is text, number, interval, shares or verdict; ``hint`` explains the heading."""

    title: str
    kind: str
    hint: str = ""


class PageTable(NamedTuple):
    """``rows`` hold (what is shown, what is sorted by) per cell; ``bar`` is the range of the interval column."""

    name: str
    caption: str
    columns: list[Heading]
    rows: list[list[tuple[str, object]]]
    bar: tuple[float, float, float] | None = None  # low, high, no interaction

    @property
    def shown(self) -> list[list[tuple[str, object]]]:
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
            "columns": [{"title": c.title, "kind": c.kind} for c in self.columns],
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


def edge_table(findings: Findings) -> PageTable:
    """Edges, the best supported first."""
    edges = findings.edges
    neutral = 0.5 if findings.scale == "theta" else 0.0
    key = edges["log_bf10"].where(edges["log_bf10"].notna(), (edges["mean"] - neutral).abs())
    ordered = edges.loc[key.sort_values(ascending=False, kind="stable").index]
    columns = [
        Heading("Edge", "text"),
        Heading(
            "Verdict",
            "verdict",
            "present above a Bayes factor of 10, absent below 1/10; fragile: more draws could change it",
        ),
        Heading(scale_name(findings.posterior.model, findings.scale).split(" (0.5")[0], "number", "posterior mean"),
        Heading("90% interval", "interval", "the coupling lies here with a probability of 90%"),
        Heading("P(sign)", "number", "posterior probability that the coupling has the sign of its mean"),
        Heading("Bayes factor", "number", "for the edge against its absence, given the rest"),
    ]
    rows, digits = [], decimals(float(edges["sd"].median()))
    for name, row in zip(ordered.index, ordered.to_dict("records"), strict=True):
        sure = max(row["positive"], 1 - row["positive"])
        verdict = str(row["verdict"]) + (", fragile" if row["fragile"] else "")
        rows.append(
            [
                _text(str(name).replace("--", " \u2013 ")),
                _text(verdict),
                _number(row["mean"], digits),
                (interval(row["q5"], row["q95"], digits), [_digits(row["q5"]), _digits(row["q95"])]),
                _number(sure, 3),
                (bayes_factor(row["log_bf10"], row["bound"]), _digits(row["log_bf10"])),
            ]
        )
    low, high = float(edges["q5"].min()), float(edges["q95"].max())
    what = plural(len(rows), "coupling" if findings.is_tied else "edge")
    return PageTable("edges", what, columns, rows, (min(low, neutral), max(high, neutral), neutral))


def evidence_table(name: str, caption: str, frame: pd.DataFrame, probability: str) -> PageTable:
    """Edges of a search over graphs, or differences between groups, the best supported first.

    Parameters
    ----------
    frame : columns inclusion, log_bf10, verdict, fragile, mean, q5, q95, in log-odds
    probability : heading of the column ``inclusion``
    """
    has_evidence = bool(frame["log_bf10"].notna().any())
    columns = [Heading(str(frame.index.name or "name").capitalize(), "text")]
    if has_evidence:
        columns += [
            Heading("Verdict", "verdict", "present above a Bayes factor of 10, absent below 1/10"),
            Heading(probability, "number", "posterior probability"),
        ]
    columns += [
        Heading("Mean (log-odds)", "number", "posterior mean"),
        Heading("90% interval", "interval", "it lies here with a probability of 90%"),
    ]
    if has_evidence:
        columns.append(Heading("Bayes factor", "number", "posterior odds over prior odds"))
    key = frame["log_bf10"] if has_evidence else frame["mean"].abs()
    rows, digits = [], decimals(float((frame["q95"] - frame["q5"]).median()) / 3.3)
    ordered = frame.loc[key.sort_values(ascending=False, kind="stable").index]
    for label, row in zip(ordered.index, ordered.to_dict("records"), strict=True):
        cells = [_text(str(label).replace("--", " \u2013 "))]
        if has_evidence:
            cells.append(_text(str(row["verdict"]) + (", fragile" if row["fragile"] else "")))
            cells.append(_number(row["inclusion"], 3))
        cells.append(_number(row["mean"], digits))
        cells.append((interval(row["q5"], row["q95"], digits), [_digits(row["q5"]), _digits(row["q95"])]))
        if has_evidence:
            cells.append((bayes_factor(row["log_bf10"]), _digits(row["log_bf10"])))
        rows.append(cells)
    low, high = float(frame["q5"].min()), float(frame["q95"].max())
    return PageTable(name, caption, columns, rows, (min(low, 0.0), max(high, 0.0), 0.0))


def variable_table(findings: Findings) -> PageTable | None:
    """Every variable with the shares of its states; None where they are not known or there was one observation."""
    observed, model = findings.posterior._observed, findings.posterior.model
    if observed is None or not observed.shares.size or observed.n < 2 or model.n_nodes > LISTED_VARIABLES:
        return None
    ends = np.cumsum(model.states)[:-1]
    labels = [variable.values for variable in findings.posterior.schema]
    rows = []
    for name, share, levels in zip(model.nodes, np.split(observed.shares, ends), labels, strict=True):
        said = f"{share[1]:.0%}" if share.size == 2 else " \u00b7 ".join(f"{100 * part:.0f}" for part in share) + "%"
        alarm = "constant" if share.max() > 1 - 1e-12 else "rare" if np.sort(share)[-2] < RARE_SHARE else ""
        mean = float(_scores(levels, share.size) @ share)
        rows.append([_text(str(name)), (said, share.round(4).tolist())])
        rows[-1] += [_number(mean, 2)] if share.size > 2 or not model.is_binary else []
        rows[-1].append(_text(alarm))
    columns = [
        Heading("Variable", "text"),
        Heading("Share of 1" if model.is_binary else "Shares of the states", "shares", "in the observations"),
    ]
    columns += (
        [] if model.is_binary else [Heading("Mean", "number", "of levels that are numbers; else states count from 0")]
    )
    columns.append(Heading("Remark", "text", f"rare: all states but one make up less than {RARE_SHARE:.0%}"))
    if not any(row[-1][0] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return PageTable("variables", f"{len(rows):,} variables", columns, rows)


def _scores(levels: tuple[object, ...] | None, states: int) -> np.ndarray:
    """The levels themselves where they are numbers, so that means are on the scale of the questionnaire."""
    is_numeric = levels is not None and all(isinstance(level, Real) for level in levels)
    return np.array(levels, dtype=float) if is_numeric and len(levels or ()) == states else np.arange(float(states))


def node_table(findings: Findings) -> PageTable:
    """Nodes, those that the others predict best first."""
    nodes = findings.nodes
    scale = "h" if findings.scale == "ising" else findings.scale
    columns, makers = [Heading("Node", "text")], []
    if "threshold_mean" in nodes:
        columns.append(
            Heading(f"Threshold ({scale})", "number", "the node's own factor: its log-odds where all else is zero")
        )
        makers.append(("threshold_mean", 2))
    if "accuracy" in nodes:
        columns += [
            Heading("Predicted", "number", "share of rows whose state the other nodes name"),
            Heading("Alone", "number", "share that naming the commonest state reaches"),
            Heading("Log-score gain", "number", "nats per row that the other nodes add"),
        ]
        makers += [("accuracy", -1), ("accuracy_alone", -1), ("log_score_gain", 3)]
    if "strength" in nodes:
        columns += [
            Heading("Strength", "number", "sum of the sizes of its couplings"),
            Heading("Expected influence", "number", "sum of its couplings"),
        ]
        makers += [("strength", 2), ("expected_influence", 2)]
    by = "log_score_gain" if "log_score_gain" in nodes else "strength" if "strength" in nodes else None
    ordered = nodes.sort_values(by, ascending=False, kind="stable") if by else nodes
    rows = []
    for name, row in zip(ordered.index, ordered.to_dict("records"), strict=True):
        cells = [_text(str(name))]
        for column, digits in makers:
            value = float(row[column])
            cells.append((f"{value:.0%}", _digits(value)) if digits < 0 else _number(value, digits))
        rows.append(cells)
    return PageTable("nodes", f"{len(rows):,} nodes", columns, rows)


def frame_table(name: str, caption: str, frame: pd.DataFrame) -> PageTable:
    """Any table, as it is: verdicts as verdicts, lists as lists, numbers with four digits."""
    columns = [Heading(str(frame.index.name or "name"), "text")]
    for column in frame.columns:
        is_number = frame[column].dtype.kind in "iuf"
        kind = "verdict" if column == "verdict" else "number" if is_number else "text"
        columns.append(Heading(str(column).replace("_", " "), kind))
    rows = []
    for key, row in zip(frame.index, frame.itertuples(index=False), strict=True):
        cells = [_text(str(key).replace("--", " \u2013 "))]
        for value in row:
            if isinstance(value, Real) and not isinstance(value, bool):
                cells.append((f"{value:.4g}".replace("nan", "\u2013"), _digits(float(value))))
            elif isinstance(value, (tuple, list)):
                cells.append(_text(", ".join(str(part).replace("--", " \u2013 ") for part in value)))
            else:
                cells.append(_text(str(value)))
        rows.append(cells)
    return PageTable(name, caption, columns, rows)


def _text(text: str) -> tuple[str, object]:
    return text, text


def _number(value: float, digits: int) -> tuple[str, object]:
    return number(value, digits), _digits(value)


def _digits(value: float) -> float | None:
    """Few enough digits that 20,000 rows stay small; JSON knows no NaN."""
    return float(f"{value:.5g}") if math.isfinite(value) else None
