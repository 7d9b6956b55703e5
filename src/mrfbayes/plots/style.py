"""What all pictures share: colours that survive colour blindness, and axes without a figure of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe & Ito (2008), in the order in which methods are drawn
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")


def axes_or_new(ax: Axes | None, **figure: Any) -> Axes:
    """``ax``, or the axes of a new figure."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    made: Axes = pyplot.subplots(layout="constrained", **figure)[1]
    return made


def escape(text: str) -> str:
    """``text`` without matplotlib's own markup."""
    return text.replace("$", r"\$")
