"""Small real data sets that come with the package (sources and licences: ``data/embedded/README.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

import numpy as np


@dataclass(frozen=True, eq=False)
class Dataset:
    """Observations with their names.

    Attributes
    ----------
    x : ndarray of uint8
        Shape (n, d). States 0..r-1.
    nodes : tuple of str
        Names of the columns.
    states : int
        Number of states r of every column.
    group : ndarray
        Shape (n,). Digit or group of each observation.
    about : str
        Content, origin and licence of the data.

    See Also
    --------
    load_adhd : One of them.
    load_boredom : One of them.
    load_digits : One of them.

    Examples
    --------
    >>> from mrfbayes import datasets
    >>> datasets.load_boredom().states
    7
    """

    x: np.ndarray
    nodes: tuple[str, ...]
    states: int
    group: np.ndarray
    about: str

    def __repr__(self) -> str:
        n, d = self.x.shape
        return f"<Dataset: {n} observations of {d} variables with {self.states} states. {self.about}>"


def load_adhd() -> Dataset:
    """Load eighteen binary symptoms of attention deficit and hyperactivity in 355 children.

    Returns
    -------
    Dataset
        The observations.

    See Also
    --------
    load_boredom : Ordered answers in two languages.
    load_digits : Images.

    Examples
    --------
    >>> from mrfbayes import datasets
    >>> datasets.load_adhd().x.shape
    (355, 18)
    """
    about = "ADHD symptoms; group: diagnosed (1) or not (0). From the R package bgms, CC BY 4.0."
    return _load("adhd.csv", 0, 2, 0, about)


def load_boredom() -> Dataset:
    """Load eight items of a boredom scale with seven ordered answers of 986 people.

    Returns
    -------
    Dataset
        The observations; answer k is state k-1.

    See Also
    --------
    load_adhd : Symptoms, present or not.
    load_digits : Images.

    Examples
    --------
    >>> from mrfbayes import datasets
    >>> datasets.load_boredom().x.shape
    (986, 8)
    """
    about = "Boredom scale; group: language of the questionnaire. From the R package bgms, CC BY 4.0."
    return _load("boredom.csv", 0, 7, 1, about)


def load_digits() -> Dataset:
    """Load handwritten digits as 1,797 black and white images of 8 x 8 pixels.

    Some pixels never change and some neighbours always agree, so the maximum likelihood estimate does not exist.

    Returns
    -------
    Dataset
        The images row by row, in the order of the nodes of ``grid(8, 8)``.

    See Also
    --------
    load_adhd : Symptoms, present or not.
    load_boredom : Ordered answers in two languages.

    Examples
    --------
    >>> from mrfbayes import datasets
    >>> datasets.load_digits().x.shape
    (1797, 64)
    """
    about = "Handwritten digits; group: the digit. UCI Optical Recognition of Handwritten Digits, CC BY 4.0."
    return _load("digits_8x8.csv", 64, 2, 0, about)


def _load(name: str, group: int, states: int, lowest: int, about: str) -> Dataset:
    """Column ``group`` is kept apart; ``lowest`` is the value of state 0 in the file."""
    import pandas as pd

    with resources.files("mrfbayes.data").joinpath("embedded", name).open(encoding="utf-8") as file:
        table = pd.read_csv(file)
    groups = table.pop(table.columns[group]).to_numpy(copy=True)
    x = (table.to_numpy() - lowest).astype(np.uint8)
    for array in (x, groups):
        array.setflags(write=False)
    return Dataset(x, tuple(table.columns), states, groups, about)
