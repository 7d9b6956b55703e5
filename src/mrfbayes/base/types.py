"""Types of the arguments that many public functions take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from mrfbayes.data.data import Data
    from mrfbayes.data.statistics import Statistics
    from mrfbayes.model.distributions import Distribution
    from mrfbayes.priors import CompiledFunction, Custom

DataLike: TypeAlias = (
    "Data | Statistics | ArrayLike | DataFrame | PathLike[str] | Mapping[str, ArrayLike] | Sequence[PathLike[str]]"
)
"""`Data`, what `Data` reads (array, table, path, mapping from names to columns, list of files), or `Statistics`."""

ThetaLike: TypeAlias = "ArrayLike | Mapping[str, float]"
"""Parameters theta (p,), in the order of ``model.parameters`` or by name."""

DistributionLike: TypeAlias = "str | Distribution"
"""A distribution, or its text, as "normal(0, 1)"."""

PriorLike: TypeAlias = (
    "DistributionLike | Custom | CompiledFunction | Mapping[str, DistributionLike] | Sequence[Distribution]"
)
"""What `mrfbayes.priors` describes: a name, a distribution, a mapping from kinds or blocks to them, or a list."""

PlotOption: TypeAlias = "str | float | Sequence[str] | Axes | Sequence[Axes] | DataFrame | None"
"""An argument of a function of `mrfbayes.plots`."""

Drawing: TypeAlias = "Axes | Figure | np.ndarray"
"""What a function of `mrfbayes.plots` returns."""

EdgePriorLike: TypeAlias = "str | ArrayLike"
"""Prior over graphs: "bernoulli(0.5)", "beta-bernoulli(1, 1)", or a probability for each edge."""

Option: TypeAlias = "float | str | ArrayLike | None"
"""An option of a method or an algorithm; its page says which values it takes."""

Method = Literal[
    "auto", "exact", "calibrated", "mle", "pseudo", "laplace", "importance", "auxiliary", "exchange",
    "persistent", "exchange-exact", "moller", "mavm", "langevin",
]  # fmt: skip
Scale = Literal["theta", "log-odds", "ising"]
Coupling = Literal["agreement", "both-one", "score", "table"]
