"""What all pictures share: colours that survive colour blindness, quiet axes, and the table behind each picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from weakref import WeakKeyDictionary

from mrfbayes.base.errors import InputError
from mrfbayes.base.plain_text import visible

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from mrfbayes.model.field import Model

# Okabe & Ito (2008), in the order in which methods are drawn
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
POSITIVE, NEGATIVE = COLOURS[0], COLOURS[1]
VERDICT = {"present": "#0072B2", "absent": "#D55E00", "undecided": "#8a8f98", "unknown": "#8a8f98"}
INK, MUTED, FAINT = "#1f2328", "#6b7280", "#d5d9e0"
PAPER = "#ffffff"
BLUE_TO_ORANGE = ("#9a3a00", "#D55E00", "#eba57c", "#e9ebee", "#7fb6dc", "#0072B2", "#004a78")
# Of communities, light enough for a number inside; told apart by the numbers of the legend, too
COMMUNITY_COLOURS = ("#a6cee3", "#fdbf6f", "#b2df8a", "#cab2d6", "#fb9a99", "#ffff99", "#d9d9d9", "#ccebc5")
JOURNAL_WIDTHS = {"single": 85 / 25.4, "double": 178 / 25.4}  # inches
DASHED = (0, (3.2, 1.6))  # of negative couplings, so that print without colour tells them apart

Owner = TypeVar("Owner", bound="Axes | Figure")
drawn_tables: WeakKeyDictionary[Axes | Figure, pd.DataFrame] = WeakKeyDictionary()


def figure_width(width: str | float) -> float:
    """Inches of "single" or "double", the columns of a journal, or of a number."""
    inches = JOURNAL_WIDTHS.get(width) if isinstance(width, str) else float(width)
    if inches is None or not 1 <= inches <= 50:
        raise InputError(f"width = {width!r}: give 'single' (85 mm), 'double' (178 mm) or inches from 1 to 50.")
    return inches


def nth_colour(k: int) -> str:
    """The colour of the k-th of several things that are drawn together."""
    return COLOURS[k % len(COLOURS)]


def axes_or_new(ax: Axes | None, **figure: Any) -> Axes:
    """``ax``, or the axes of a new figure."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    made: Axes = pyplot.subplots(layout="constrained", **figure)[1]
    return made


def panels_or_new(ax: object, rows: int, columns: int, **figure: Any) -> np.ndarray:
    """The axes (rows, columns) of a picture with several panels: those given, as a sequence, or of a new figure."""
    import numpy as np

    if ax is None:
        from matplotlib import pyplot

        made: np.ndarray = pyplot.subplots(rows, columns, layout="constrained", squeeze=False, **figure)[1]
        return made
    given = np.array(ax, dtype=object).ravel()
    if given.size != rows * columns:
        raise InputError(f"ax: this picture has {rows * columns} panels, got {given.size} axes; give one for each.")
    return given.reshape(rows, columns)


def escape(text: str) -> str:
    """``text`` without matplotlib's own markup and without control characters, which no SVG file may hold."""
    return visible(text).replace("$", r"\$")


def shorten(text: str, letters: int) -> str:
    """``text``, its middle left out where it is longer than ``letters``: both ends of a name tell it apart."""
    if len(text) <= letters:
        return text
    head = (letters - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (letters - 1 - head) :]}"


def label(name: object, letters: int = 1_000) -> str:
    """The name of an edge, node or parameter as pictures show it."""
    return escape(shorten(str(name).replace("--", " \u2013 "), letters))


def row_axes(ax: Axes | None, names: Iterable[object], width: float, letters: int = 38) -> tuple[Axes, np.ndarray]:
    """Axes with a named row at each height 0, 1, ..., and the heights; new axes grow with the number of rows."""
    import numpy as np

    texts = [label(name, letters) for name in names]
    ax = axes_or_new(ax, figsize=(width, 0.8 + 0.2 * max(len(texts), 3)))
    height = np.arange(len(texts))
    ax.set_yticks(height, texts)
    ax.set_ylim(-0.7, len(texts) - 0.3)
    ax.tick_params(axis="y", length=0)
    return ax, height


def finish(
    ax: Axes,
    table: pd.DataFrame,
    text: str = "",
    *,
    x: str = "",
    y: str = "",
    spines: Sequence[str] = ("bottom", "left"),
    grid: Literal["", "x", "y", "both"] = "",
) -> Axes:
    """Give a picture its title, labels, grid and spines, and remember the numbers behind it."""
    if text:
        title(ax, text)
    if x:
        ax.set_xlabel(x)
    if y:
        ax.set_ylabel(y)
    if grid:
        ax.grid(axis=grid, color=FAINT, lw=0.6, zorder=0)
        ax.set_axisbelow(True)
    keep_table(ax, table)
    return quiet(ax, *spines)


def points(ax: Axes, x: ArrayLike, y: ArrayLike, marker: str, colour: str, text: str, **style: Any) -> None:
    """Points with thin bars ``xerr`` and ``yerr``, and their text in the legend."""
    ax.errorbar(x, y, fmt=marker, color=colour, label=text, **{"ms": 4.5, "elinewidth": 0.8, "zorder": 3, **style})


def quiet(ax: Axes, *keep: str) -> Axes:
    """Leave only the spines in ``keep``, and make what is left grey."""
    for side, spine in ax.spines.items():
        spine.set(visible=side in keep, color=MUTED, linewidth=0.7)
    ax.tick_params(colors=INK, labelsize=8, width=0.7, color=MUTED)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set(fontsize=9, color=INK)
    return ax


def title(ax: Axes, text: str) -> None:
    """A title on the left, in the size of the text around it."""
    ax.set_title(text, fontsize=10, loc="left", color=INK, pad=8)


def keep_table(owner: Owner, frame: pd.DataFrame) -> Owner:
    """``owner``, axes or a figure, with its numbers: `mrfbayes.plots.data` and `mrfbayes.plots.save` find them."""
    drawn_tables[owner] = frame
    return owner


def figure_of(picture: Axes | Figure) -> Figure:
    """The figure itself, or that of axes."""
    from matplotlib.figure import Figure

    found = picture if isinstance(picture, Figure) else picture.figure
    assert isinstance(found, Figure)
    return found


def place_of(model: Model, parameter: int | str) -> int:
    """The place of a parameter given by name or place."""
    if isinstance(parameter, str):
        if parameter in model.parameters:
            return model.parameters.index(parameter)
        raise InputError(f"parameter = {parameter!r}: the model has no such parameter; see model.parameters.")
    if not -model.n_parameters <= parameter < model.n_parameters:
        raise InputError(f"parameter = {parameter}: give a name, or a place below {model.n_parameters}.")
    return int(parameter) % model.n_parameters
