"""The most probable graphs of a search, side by side, with the nodes in the same places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError
from mrfbayes.plots.layouts import positions
from mrfbayes.plots.network import draw_edges, draw_nodes
from mrfbayes.plots.style import keep_table, title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from mrfbayes.structure.selection import Selection

PANELS, COLUMNS = 6, 3
MOST_GRAPH_NODES = 60  # more are a smear in a panel


def structures(
    selection: Selection, *, top: int = PANELS, layout: Any = "auto", graphs: pd.DataFrame | None = None
) -> Figure:
    """Draw the most probable graphs; width is the model-averaged strength, colour and dash the sign.

    Parameters
    ----------
    selection : Selection
        Result of `mrfbayes.select`.
    top : int, optional
        Number of graphs.
    layout : str or mapping, default "auto"
        Positions of the nodes, as in `mrfbayes.plots.network`.
    graphs : DataFrame, optional
        Result of ``selection.graphs()``, if it is already computed.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.complete(["a", "b", "c"], coupling="both-one")
    >>> data = mb.simulate(model, [0.9, 0.5, 0.5], 300, rng=1)
    >>> selection = mb.select(model, data, draws=500, warmup=100, chains=2, rng=1, progress=False)
    >>> len(mb.plots.structures(selection, top=2).axes)
    2
    """
    from matplotlib import pyplot

    model = selection.model
    if model.n_nodes > MOST_GRAPH_NODES:
        raise InputError(
            f"plots.structures: {model.n_nodes} nodes are too many for small panels (at most {MOST_GRAPH_NODES}); see "
            "selection.graphs() and plots.edge_evidence."
        )
    table = (selection.graphs(whole("top", top, 1)) if graphs is None else graphs).head(top)
    if not len(table):
        raise InputError("plots.structures: the result holds no draws; run mb.select with more steps.")
    edges = _rows(selection)
    places = positions(model, layout, np.abs(selection.mean[: model.n_edges]))
    columns = min(COLUMNS, len(table))
    rows = -(-len(table) // columns)
    figure, panels = pyplot.subplots(
        rows, columns, figsize=(3.8 * columns, 3.7 * rows), layout="constrained", squeeze=False
    )
    for ax in panels.ravel()[len(table) :]:
        ax.axis("off")
    widest = float(edges["size"].max() or 1.0)
    for ax, (rank, graph) in zip(panels.ravel(), table.iterrows(), strict=False):
        draw_edges(ax, model, places, edges, edges.index.isin(graph["edges"]), widest)
        draw_nodes(ax, model, places)
        title(ax, f"{rank}: {_per_cent(graph['probability'])}, {graph['number']} edges")
    keep_table(figure, table.assign(edges=[", ".join(names) for names in table["edges"]]))
    made: Figure = figure
    return made


def _rows(selection: Selection) -> pd.DataFrame:
    """What `draw_edges` needs to know of every edge."""
    import pandas as pd

    m = selection.model.n_edges
    mean, names = selection.mean[:m], selection.model.blocks[:m]
    columns = {"size": np.abs(mean), "sign": np.where(mean >= 0, 1, -1), "sign_probability": 1.0}
    return pd.DataFrame(columns, index=pd.Index(names, name="edge"))


def _per_cent(probability: float) -> str:
    return f"probability {probability:.2%}" if probability >= 0.00005 else "probability below 0.01%"
