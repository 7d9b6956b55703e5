"""Graphs and fields in files: edge lists (CSV, TSV), GraphML, UAI, and dimod's JSON of spins at temperature 1."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes.base.checks import one_of
from mrfbayes.base.errors import InputError, Problems
from mrfbayes.base.plain_text import spreadsheet_cell, visible
from mrfbayes.model.factors import Factor
from mrfbayes.model.field import Model
from mrfbayes.model.scales import edge_strengths

if TYPE_CHECKING:
    import pandas as pd


EXPORT_FORMATS = ("graphml", "uai", "dimod", "edges")
MOST_FILE_BYTES = 1 << 30  # no graph that fits a field is larger as text
_GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"
Edges = list[tuple[str, str]] | list[tuple[int, int]]


def read_graph(
    path: str | PathLike[str], problems: Problems
) -> tuple[Edges, list[str] | list[int] | None, list[str] | None]:
    """Edges, nodes where the file lists them, and places of edges that have a line, of a graph file.

    The file is an edge list (CSV or TSV), GraphML or UAI; lines that are no edges are added to ``problems``.

    An edge list has two columns, one edge per line, with or without a header; node ids are ints if all are whole
    numbers. The kind of file follows from its ending: .graphml and .xml, .uai, anything else is an edge list.
    """
    name = fspath(path)
    suffix = Path(name).suffix.lower()
    text = read_text(name)
    if suffix in (".graphml", ".xml") or text.lstrip()[:5] in ("<?xml", "<grap"):
        return *_parse_graphml(text, name), None
    if suffix == ".uai":
        states, factors = _parse_uai(text, name)
        pairs = {(min(scope), max(scope)): None for scope, _ in factors if len(scope) == 2}
        return list(pairs), list(range(len(states))), None
    edges, places = _parse_edge_list(text, name, problems)
    return edges, None, places


def read_text(name: str) -> str:
    """The whole file as text, or an `InputError` that names the byte at which it is not UTF-8."""
    try:
        size = Path(name).stat().st_size
        if size > MOST_FILE_BYTES:
            raise InputError(
                f"{name}: {size / 2**30:.1f} GiB is too large for a graph file; give the edges as an array."
            )
        raw = Path(name).read_bytes()
    except OSError as problem:
        raise InputError(f"{name}: {problem.strerror or problem}; check the path.") from None
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{name}: byte 0 is {raw[0]:#04x}, the mark of UTF-16; save the file as UTF-8.")
    if 0 in raw:
        at = raw.index(0)
        line = raw.count(b"\n", 0, at) + 1
        raise InputError(f"{name}:{line}: byte {at} is NUL, so this is not a text file; save it as UTF-8 text.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise InputError(
            f"{name}:{line}: byte {problem.start} is {raw[problem.start]:#04x}, which is not UTF-8 (Latin-1?); "
            "save the file as UTF-8."
        ) from None


def _parse_edge_list(text: str, name: str, problems: Problems) -> tuple[Edges, list[str]]:
    if not text.strip():
        raise InputError(f"{name}: the file is empty; expected one edge per line, as in 'a,b'.")
    first = next(line for line in text.splitlines() if line.strip())
    delimiter = next((mark for mark in ("\t", ",", ";", " ") if mark in first.strip()), ",")
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True, strict=True)
    pairs, places = [], []
    try:
        for fields in reader:
            cells, place = [cell.strip() for cell in fields], f"{name}:{reader.line_num}"
            while delimiter in " \t" and cells and not cells[-1]:
                cells.pop()
            if not cells or cells == [""]:
                continue
            if len(cells) != 2:
                hint = f"; is {delimiter!r} the delimiter?" if len(cells) == 1 else "."
                problems.add(f"{place}: {len(cells)} columns; an edge list has two, the ends of the edge{hint}")
            elif not all(cells):
                problems.add(f"{place}:{cells.index('') + 1}: empty node name; give both ends of the edge.")
            else:
                pairs.append((cells[0], cells[1]))
                places.append(place)
    except csv.Error as problem:
        raise InputError(f"{name}:{reader.line_num}: {problem}; close the quote or remove it.") from None
    if pairs and _is_header(pairs):
        pairs, places = pairs[1:], places[1:]
    if not pairs and not problems:
        raise InputError(f"{name}: no edges, only a header; expected one edge per line after it.")
    return whole_numbers(pairs) or pairs, places


# No single letters: "a,b" over "c,d" is an edge, and losing it silently would be worse than an unknown node.
_HEADERS = {"source", "from", "node1", "node_1", "start", "src", "var1", "left"}
_HEADERS_TO = {"target", "to", "node2", "node_2", "end", "dst", "var2", "right"}


def _is_header(pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether the first line is a header: words above numbers, or common titles that are no nodes further down."""
    first, rest = pairs[0], pairs[1:]
    if whole_numbers([first]) is None and rest and whole_numbers(rest) is not None:
        return True
    usual = first[0].lower() in _HEADERS and first[1].lower() in _HEADERS_TO
    return usual and not any(first[0] in pair or first[1] in pair for pair in rest)


def whole_numbers(pairs: Sequence[tuple[str, str]]) -> list[tuple[int, int]] | None:
    """The pairs as ints where every entry is a whole number written as one, else None."""
    if not all(len(end) < 19 and end.isascii() and end.removeprefix("-").isdigit() for pair in pairs for end in pair):
        return None
    return [(int(u), int(v)) for u, v in pairs]


def _parse_graphml(text: str, name: str) -> tuple[Edges, list[str]]:
    """Nodes and edges; anything that could make a parser fetch or expand is refused before it starts."""
    upper = text.upper()
    for mark in ("<!DOCTYPE", "<!ENTITY"):
        if mark in upper:
            line = text.count("\n", 0, upper.index(mark)) + 1
            raise InputError(f"{name}:{line}: {mark} is not allowed in a graph file; remove the declaration.")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as problem:
        line = problem.position[0]
        raise InputError(f"{name}:{line}: not well-formed XML ({problem}); export the graph again.") from None
    graphs = [element for element in root.iter() if _tag(element) == "graph"]
    if _tag(root) != "graphml" or not graphs:
        raise InputError(f"{name}: no <graphml> with a <graph>; expected a GraphML file.")
    if len(graphs) > 1:
        raise InputError(f"{name}: {len(graphs)} graphs in one file; keep one, without nested graphs.")
    directed = graphs[0].get("edgedefault") == "directed"
    nodes: list[str] = []
    edges: list[tuple[str, str]] = []
    for element in graphs[0]:
        tag = _tag(element)
        if tag == "hyperedge":
            raise InputError(f"{name}: hyperedges are not supported; an edge joins two nodes.")
        if tag == "node":
            nodes.append(_attribute(element, "id", name))
        elif tag == "edge":
            edge = (_attribute(element, "source", name), _attribute(element, "target", name))
            if {"true": True, "false": False}.get(element.get("directed", ""), directed):
                raise InputError(
                    f"{name}: edge {edge[0]!r} -> {edge[1]!r} is directed; a Markov random field is undirected: "
                    "export the graph as undirected."
                )
            edges.append(edge)
    known = set(nodes)
    for u, v in edges:
        for end in (u, v):
            if end not in known:
                raise InputError(f"{name}: an edge ends at {end!r}, which is no <node>; add the node.")
    return edges, nodes


def _tag(element: ElementTree.Element) -> str:
    return element.tag.removeprefix(_GRAPHML)


def _attribute(element: ElementTree.Element, key: str, name: str) -> str:
    value = element.get(key)
    if not value or not value.strip():
        raise InputError(f"{name}: a <{_tag(element)}> has no {key}; export the graph again.")
    return value


def read_uai(path: str | PathLike[str]) -> tuple[Model, np.ndarray]:
    """Read a Markov network in UAI format.

    Parameters
    ----------
    path : str or path
        The file. Factors have one or two variables and positive tables.

    Returns
    -------
    model : Model
        The field.
    theta : (p,) ndarray
        Parameters that give the distribution of the file.

    Raises
    ------
    InputError
        If a function has more than two variables or a zero, or the file is damaged.

    See Also
    --------
    Model.save : Writes such files.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> from mrfbayes.bridges import read_uai
    >>> mb.grid(1, 2).save("pair.uai", 0.8)
    >>> model, theta = read_uai("pair.uai")
    >>> mb.marginals(model, theta).table.shape[0]
    4
    """
    name = fspath(path)
    states, functions = _parse_uai(read_text(name), name)
    names = [str(i) for i in range(len(states))]
    factors, log_weights = [], []
    for k, (scope, values) in enumerate(functions):
        if len(scope) not in (1, 2):
            raise InputError(f"{name}: function {k} has {len(scope)} variables; a field has factors of one or two.")
        if not (values > 0).all():
            raise InputError(f"{name}: function {k} has a zero; a field gives every configuration a positive weight.")
        shape = tuple(states[i] for i in scope)
        outcomes = ((np.arange(values.size) - 1) % values.size).reshape(shape)
        factors.append(Factor(tuple(names[i] for i in scope), outcomes=outcomes, block=f"f{k}"))
        log_weights.append(np.log(values[1:]) - np.log(values[0]))
    model = Model(dict(zip(names, states, strict=True)), factors)
    w = np.concatenate([log_weights[int(block[1:])] for block in model.blocks]) if factors else np.zeros(0)
    return model, model.chart.theta(w)


def _parse_uai(text: str, name: str) -> tuple[list[int], list[tuple[tuple[int, ...], np.ndarray]]]:
    words = iter(text.split())
    kind = next(words, "")
    if kind.upper() != "MARKOV":
        raise InputError(f"{name}: starts with {kind[:20]!r}; expected a UAI file of type MARKOV.")

    def take(what: str, read: type[int] | type[float], count: int = 1, low: int = 0) -> list[Any]:
        part = list(islice(words, min(count, len(text) + 1)))
        if len(part) < count:
            raise InputError(f"{name}: the file ends where {what} is expected; is it truncated?")
        values = []
        for word in part:
            try:
                values.append(read(word))
            except ValueError:
                values.append(-1)
            if not low <= values[-1] < np.inf:
                expected = "a whole number" if read is int else "a finite weight"
                raise InputError(f"{name}: {what} is {word[:20]!r}; expected {expected} >= {low}.")
        return values

    (n_variables,) = take("the number of variables", int, low=1)
    states = take("the number of states of a variable", int, n_variables, 2)
    (n_functions,) = take("the number of functions", int)
    scopes = []
    for k in range(n_functions):
        (size,) = take(f"the number of variables of function {k}", int)
        scope = tuple(take(f"a variable of function {k}", int, size))
        if len(set(scope)) != len(scope) or any(i >= n_variables for i in scope):
            raise InputError(f"{name}: function {k} is on {scope}; expected distinct variables 0..{n_variables - 1}.")
        scopes.append(scope)
    functions = []
    for k, scope in enumerate(scopes):
        (size,) = take(f"the number of entries of function {k}", int)
        expected = int(np.prod([states[i] for i in scope], dtype=float))
        if size != expected:
            raise InputError(f"{name}: function {k} has {size} entries, its variables have {expected} configurations.")
        functions.append((scope, np.array(take(f"an entry of function {k}", float, size))))
    if (word := next(words, None)) is not None:
        raise InputError(f"{name}: {word[:20]!r} after the last function; is the number of functions right?")
    return states, functions


def edge_table(model: Model, values: np.ndarray) -> pd.DataFrame:
    """A symmetric table, nodes by nodes, of one value per edge (m,): as qgraph and igraph read networks."""
    import pandas as pd

    matrix = np.zeros((model.n_nodes, model.n_nodes))
    u, v = model.edges.T
    matrix[u, v] = matrix[v, u] = values
    return pd.DataFrame(matrix, index=list(model.nodes), columns=list(model.nodes))


def export_text(model: Model, log_odds: np.ndarray | None, form: str) -> str:
    """The field at ``log_odds`` (p,) as text in one of `EXPORT_FORMATS`; None for a graph without couplings."""
    makers = {"graphml": _graphml, "uai": _uai, "dimod": _dimod, "edges": _edge_list}
    one_of("format", form, EXPORT_FORMATS)
    if log_odds is None:
        return _graphml(model, None)
    return makers[form](model, np.asarray(log_odds, dtype=float))


def _graphml(model: Model, w: np.ndarray | None) -> str:
    import networkx as nx

    names = [visible(name) for name in model.nodes]  # XML has no way to write control characters
    graph = nx.Graph()
    graph.add_nodes_from((name, {"states": states}) for name, states in zip(names, model.states.tolist(), strict=True))
    graph.add_edges_from((names[u], names[v]) for u, v in model.edges.tolist())
    if w is not None:
        weights = zip(model.edges.tolist(), edge_strengths(model, w).tolist(), strict=True)
        nx.set_edge_attributes(graph, {(names[u], names[v]): weight for (u, v), weight in weights}, "weight")
    return "\n".join(nx.generate_graphml(graph)) + "\n"


def _edge_list(model: Model, w: np.ndarray) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["from", "to", "weight"])
    for (u, v), coupling in zip(model.edges.tolist(), edge_strengths(model, w).tolist(), strict=True):
        ends = (spreadsheet_cell(model.nodes[node]) for node in (u, v))
        writer.writerow([*ends, repr(coupling)])
    return file.getvalue()


def _uai(model: Model, w: np.ndarray) -> str:
    """Node tables, then edge tables; the last variable of a scope changes fastest, as the format wants."""
    node_tables, edge_tables = model.lowering.tables(w)
    tables = [*node_tables, *edge_tables]
    scopes = [f"1 {i}" for i in range(model.n_nodes)] + [f"2 {u} {v}" for u, v in model.edges.tolist()]
    lines = ["MARKOV", str(model.n_nodes), " ".join(map(str, model.states.tolist())), str(len(tables)), *scopes, ""]
    for table in tables:
        lines += [str(table.size), " ".join(repr(float(value)) for value in np.exp(table).ravel()), ""]
    return "\n".join(lines)


def _dimod(model: Model, w: np.ndarray) -> str:
    if not model.is_binary:
        raise InputError("format 'dimod' is for variables with two states: use 'uai'.")
    node, edge = model.lowering.potentials(w)
    u, v = model.edges.T
    content = {
        "type": "BinaryQuadraticModel",
        "version": {"bqm_schema": "3.0.0"},
        "use_bytes": False,
        "index_type": "int32",
        "bias_type": "float64",
        "num_variables": model.n_nodes,
        "num_interactions": model.n_edges,
        "variable_labels": list(model.nodes),
        "variable_type": "SPIN",
        "offset": 0.0,
        "info": {"energy": "-log p up to a constant, spins -1 and +1 for states 0 and 1"},
        "linear_biases": (-node / 2).tolist(),
        "quadratic_biases": (-edge / 2).tolist(),
        "quadratic_head": u.tolist(),
        "quadratic_tail": v.tolist(),
    }
    return json.dumps(content, indent=1) + "\n"
