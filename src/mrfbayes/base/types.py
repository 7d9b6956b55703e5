"""Types of the arguments that many public functions take, and of what compiled code is given.

A view is a NamedTuple of arrays and numbers, whose type tells Numba which kernel to take. It is shared by chains and
threads. The arrays that kernels write to are annotated as `Workspace`, and whoever runs a kernel first takes
`with_own_workspace`: evaluation is re-entrant, because nothing that is written to is shared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol, Self, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence
    from os import PathLike

    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from mrfbayes.data.data import Data
    from mrfbayes.data.statistics import Statistics
    from mrfbayes.estimation.result import Estimate
    from mrfbayes.model.distributions import Distribution
    from mrfbayes.model.edges import GraphLike
    from mrfbayes.model.ising import Ising
    from mrfbayes.model.schema import Label
    from mrfbayes.priors import CompiledFunction, Custom


DataLike: TypeAlias = (
    "Data | Statistics | ArrayLike | DataFrame | PathLike[str] | Mapping[str, ArrayLike] | Sequence[PathLike[str]]"
)
"""`Data`, what `Data` reads (array, table, path, mapping from names to columns, list of files), or `Statistics`."""

ColumnsLike: TypeAlias = "str | Sequence[Hashable]"
"""Columns by name, range "q1:q9" or pattern "q*"."""

LevelsLike: TypeAlias = "str | Sequence[Label] | Mapping[str, str | Sequence[Label]]"
"""Labels in ascending order, as a list or as text "low<high", for all columns or by column."""

MarksLike: TypeAlias = "Label | Iterable[Label] | Mapping[str, Label | Iterable[Label]]"
"""Values that mark missing cells, for all columns or by column."""

EdgesLike: TypeAlias = "str | PathLike[str] | GraphLike | DataFrame | np.ndarray | Iterable[Iterable[Hashable]]"
"""A graph: pairs of nodes, a networkx graph, or the path of a file."""

ThetaLike: TypeAlias = "ArrayLike | Mapping[str, float] | Ising"
"""Parameters theta (p,), in the order of ``model.parameters`` or by name, or couplings J and fields h."""

Stored: TypeAlias = "str | float | Sequence[Stored] | Mapping[str, Stored] | None"
"""What JSON can hold."""

DistributionLike: TypeAlias = "str | Distribution"
"""A distribution, or its text, as "normal(0, 1)"."""

PriorLike: TypeAlias = (
    "DistributionLike | Custom | CompiledFunction | Mapping[str, DistributionLike] | Sequence[Distribution]"
)
"""What `mrfbayes.priors` describes: a name, a distribution, a mapping from kinds or blocks to them, or a list."""

LayoutLike: TypeAlias = "ArrayLike | Mapping[str, Sequence[float]] | None"
"""Places of the nodes of a network: a name as "spring" (None: "auto"), places (d, 2), or a mapping to them."""

PlotOption: TypeAlias = "str | float | Sequence[str] | Axes | Sequence[Axes] | DataFrame | None"
"""An argument of a function of `mrfbayes.plots`."""

Drawing: TypeAlias = "Axes | Figure | np.ndarray"
"""What a function of `mrfbayes.plots` returns."""

EdgePriorLike: TypeAlias = "str | ArrayLike"
"""Prior over graphs: "bernoulli(0.5)", "beta-bernoulli(1, 1)", or a probability for each edge."""

Option: TypeAlias = "float | str | ArrayLike | None"
"""An option of a method or an algorithm; its page says which values it takes."""

SampleSetting: TypeAlias = "Option | PriorLike | ThetaLike | PathLike[str] | Estimate"
"""An argument of `mrfbayes.sample`."""

Method = Literal[
    "auto", "exact", "calibrated", "mle", "pseudo", "laplace", "importance", "auxiliary", "exchange",
    "persistent", "exchange-exact", "moller", "mavm", "langevin",
]  # fmt: skip
Scale = Literal["theta", "log-odds", "ising"]
Coupling = Literal["agreement", "both-one", "score", "table"]


Workspace: TypeAlias = "np.ndarray"  # the annotation of a view's field that kernels write to


class View(Protocol):
    """Any such NamedTuple."""

    @property
    def _replace(self) -> Callable[..., Self]:
        """Makes one with some of its parts replaced."""


AnyView = TypeVar("AnyView", bound=View)


def with_own_workspace(view: AnyView) -> AnyView:
    """``view`` with copies of all arrays that kernels write to, in nested views as well; the others are shared."""
    parts: dict[str, object] = {}
    for name, kind in type(view).__annotations__.items():
        part = getattr(view, name)
        if getattr(kind, "__forward_arg__", kind) == "Workspace":  # annotations are texts in all files of views
            parts[name] = part.copy()
        elif hasattr(part, "_fields"):
            parts[name] = with_own_workspace(part)
    return view._replace(**parts)
