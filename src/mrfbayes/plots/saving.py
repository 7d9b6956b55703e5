"""A picture as a file for print, and the numbers behind it as CSV beside it."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from mrfbayes.base.atomic_files import check_targets, replacing, write_text
from mrfbayes.base.errors import InputError
from mrfbayes.base.plain_text import spreadsheet_cell
from mrfbayes.plots.style import drawn_tables, figure_of, figure_width

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PICTURE_FORMATS = (".svg", ".pdf", ".png")


def data(picture: Axes | Figure) -> pd.DataFrame:
    """Return the numbers behind a plot of `mrfbayes.plots`.

    Parameters
    ----------
    picture : Axes or Figure
        Result of a function of `mrfbayes.plots`.

    Returns
    -------
    DataFrame
        The numbers.

    Raises
    ------
    InputError
        If no function of `mrfbayes.plots` drew the picture.

    See Also
    --------
    save : Writes the plot and its numbers.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> mb.plots.data(mb.plots.forest(posterior)).shape[0]
    2
    """
    figure = figure_of(picture) if hasattr(picture, "figure") else None
    for owner in (picture, figure, *(figure.axes if figure is picture and figure is not None else ())):
        if owner is not None and owner in drawn_tables:
            return drawn_tables[owner]
    raise InputError("plots.data: give axes or a figure that a function of mrfbayes.plots has drawn.")


def save(
    picture: Axes | Figure, path: str | PathLike[str], overwrite: bool = False, *, width: str | float | None = None
) -> tuple[Path, Path]:
    """Write a plot to a file, and its numbers to a CSV file beside it.

    Parameters
    ----------
    picture : Axes or Figure
        Result of a function of `mrfbayes.plots`.
    path : str or path
        File to write, ending in .svg, .pdf (vectors) or .png (300 dots per inch).
    overwrite : bool, default False
        Whether existing files are replaced; numbers are replaced only together with their plot.
    width : {"single", "double"} or float, optional
        Width of one or two columns of a journal (85 and 178 mm), or inches; by default as drawn.

    Returns
    -------
    tuple of Path
        Paths of the plot and of the CSV file.

    Raises
    ------
    InputError
        If the ending of the path is unknown, or a file is in the way.

    See Also
    --------
    data : The numbers of a picture.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> axes = mb.plots.field(mb.grid(3, 3))
    >>> [path.name for path in mb.plots.save(axes, "field.svg")]
    ['field.svg', 'field.csv']
    """
    target = Path(path)
    if target.suffix not in PICTURE_FORMATS:
        raise InputError(f"{target}: a picture's file ends in one of {', '.join(PICTURE_FORMATS)}.")
    numbers = target.with_suffix(".csv")
    check_targets({"path": target, "its numbers": numbers}, overwrite=overwrite)
    if numbers.exists() and not target.exists():
        raise InputError(f"{numbers} is there, a file of yours, not its numbers: choose another name for the picture.")
    frame = data(picture)
    figure = figure_of(picture)
    box: str | None = "tight"
    if width is not None:  # exactly so wide: nothing is cut off or added
        inches, (old, tall) = figure_width(width), figure.get_size_inches()
        keeps_shape = any(ax.get_aspect() != "auto" for ax in figure.axes)  # rows of a list keep their height instead
        figure.set_size_inches(inches, tall * inches / old if keeps_shape else tall)
        box = None
    from matplotlib import rc_context

    # Text stays text: searchable, and in the reader's fonts.
    with rc_context({"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "mrfbayes"}):
        metadata = {"Date": None} if target.suffix == ".svg" else None
        with replacing(target, overwrite) as file:
            figure.savefig(file, format=target.suffix[1:], dpi=300, metadata=metadata, bbox_inches=box, pad_inches=0.08)
    write_table(frame, numbers, overwrite)
    return target, numbers


def write_table(frame: pd.DataFrame, path: Path, overwrite: bool = False) -> None:
    """A table as CSV with all digits, text cells harmless for spreadsheets."""
    from pandas.api.types import is_numeric_dtype

    safe = frame.copy()
    safe.index = safe.index.map(spreadsheet_cell)
    for name, kind in safe.dtypes.items():
        if not is_numeric_dtype(kind) and safe[name].map(lambda cell: isinstance(cell, str)).any():
            safe[name] = safe[name].map(spreadsheet_cell)
    safe.columns = safe.columns.map(spreadsheet_cell)
    write_text(path, safe.to_csv(lineterminator="\n"), overwrite)
