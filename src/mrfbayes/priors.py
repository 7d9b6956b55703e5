"""Prior distributions of the parameters, on theta or on the log-odds.

A prior is given as

- ``"default"``: by kind of parameter. Agreement couplings: uniform on theta. Score couplings (with "both-one"):
  ``normal(0, 1)`` scaled by the levels of the two variables. Tables: ``exchangeable(1)``. Thresholds:
  ``normal(0, 10)``, of three or more states ``exchangeable(10)``; in models with agreement couplings alone uniform.
  Effects of covariates: ``normal(0, 1)``;
- ``"uniform"``: uniform on theta for all parameters;
- the name of another distribution (``"beta(2, 2)"``, ``"normal(0, 1)"``, ``"cauchy(0, 2.5)"``, ``"logistic(0, 1)"``,
  ``"dirichlet(1)"``, ``"exchangeable(1)"``) or a distribution: that of the couplings, with thresholds as in
  ``"default"``;
- a mapping from ``"edges"``, ``"nodes"``, ``"effects"`` (of covariates) or a block's name to one of these; what it
  leaves out is as in ``"default"``;
- a list with a distribution for every block in the order of ``model.blocks``.

A distribution on log-odds that is given for all couplings is that of two binary variables: where a score coupling has
more levels, its location and scale are multiplied by .25 / (sd_u sd_v), sd = sqrt((r^2 - 1) / 12) being the standard
deviation of r equally likely levels, and on tables ``normal(0, s)`` is ``exchangeable(s)``. For a block that is named,
and in a list, it is taken as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mrfbayes.base.digests import digest_of
from mrfbayes.base.errors import InputError
from mrfbayes.model.block_priors import by_part, default_prior, distributions_by_block, scaled_to
from mrfbayes.model.distributions import (
    DIRICHLET,
    EXCHANGEABLE,
    UNIFORM,
    Beta,
    Cauchy,
    Dirichlet,
    Distribution,
    Exchangeable,
    Logistic,
    Normal,
    Uniform,
    by_name,
    parse,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from mrfbayes.base.types import PriorLike
    from mrfbayes.kernels.priors import PriorView
    from mrfbayes.model.field import Model

__all__ = ["Beta", "Cauchy", "Custom", "Dirichlet", "Distribution", "Exchangeable", "Logistic", "Normal", "Uniform"]
__all__ += ["Prior", "by_name", "by_part", "default_prior", "parse", "scaled_to"]
HEAVY_REACH = 0.5  # prior scales that an axis of one posterior sd has to reach for its tails to be the prior's: a guess


class CompiledFunction(Protocol):
    """What `numba.cfunc` makes."""

    @property
    def address(self) -> int:
        """Where the compiled code is."""


@dataclass(frozen=True)
class Custom:
    """Log density of theta as a compiled function.

    Parameters
    ----------
    function : CompiledFunction
        A `numba.cfunc` with signature ``float64(CPointer(float64), int64)``: theta and p.

    See Also
    --------
    Prior : The prior of all parameters of a model.

    Examples
    --------
    >>> from numba import carray, cfunc, types
    >>> import mrfbayes as mb
    >>> @cfunc(types.float64(types.CPointer(types.float64), types.int64))
    ... def log_density(theta, p):
    ...     return 2.0 * carray(theta, (p,)).sum()
    >>> round(mb.priors.Prior(mb.grid(1, 2), mb.priors.Custom(log_density)).log_density([0.7]), 3)
    1.4
    """

    function: CompiledFunction

    def __str__(self) -> str:
        return f"custom({getattr(self.function, '__name__', 'cfunc')})"


class Prior:
    """Prior of the parameters of a model: a distribution per block, or one custom function of theta.

    All derivatives are with respect to the log-odds w, of the log density of w (Jacobian included), as posterior modes
    and curvatures need them. For the uniform prior that is the sum of log theta_k over all outcomes.

    Parameters
    ----------
    model : Model
        The field.
    given : PriorLike, default "uniform"
        Description of the prior.

    See Also
    --------
    default_prior : What is used when nothing is given.
    Custom : A density of your own.

    Examples
    --------
    >>> import numpy as np
    >>> import mrfbayes as mb
    >>> mb.priors.Prior(mb.grid(1, 2), "normal(0, 1)").gradient_w(np.array([0.5]))
    array([-0.5])
    """

    def __init__(self, model: Model, given: PriorLike = "uniform") -> None:
        self.chart = model.chart
        self.custom = given if isinstance(given, Custom) else None
        if hasattr(given, "address") and hasattr(given, "ctypes"):
            self.custom = Custom(given)
        self.per_block = distributions_by_block(model, "uniform" if self.custom else given)
        # Millions of blocks share a few distributions: each pair of distribution and shape is encoded once.
        shapes = _shapes(model)
        pairs = [(id(d), shape) for d, shape in zip(self.per_block, shapes, strict=True)]
        by_id = {id(d): d for d in self.per_block}
        encoded = {pair: by_id[pair[0]].encode(pair[1]) for pair in dict.fromkeys(pairs)}
        width = max([2, *self.chart.sides.tolist(), *(len(values) for _, values in encoded.values())])
        self.kind = np.array([encoded[pair][0] for pair in pairs], dtype=np.int64)
        padded = {pair: values + [0.0] * (width - len(values)) for pair, (_, values) in encoded.items()}
        self.values = np.array([padded[pair] for pair in pairs], dtype=float).reshape(len(pairs), width)

    def __str__(self) -> str:
        if self.custom:
            return str(self.custom)
        texts = list(dict.fromkeys(map(str, self.per_block)))
        return texts[0] if len(texts) == 1 else ", ".join(texts)

    @property
    def digest(self) -> str:
        """Of all numbers that the density depends on, block by block; of the code of a custom function."""
        code = getattr(getattr(self.custom.function, "__wrapped__", None), "__code__", None) if self.custom else None
        custom = None if code is None else [code.co_code, [str(value) for value in code.co_consts]]
        return digest_of([self.kind, self.values, str(self.custom), custom])

    @property
    def heavy_scale(self) -> np.ndarray:
        """(p,) scale of every log-odds whose prior has tails so heavy that it has no mean; infinite elsewhere."""
        scale = np.where(self.kind == Cauchy.kind, self.values[:, 1], np.inf)
        return np.asarray(scale[self.chart.block_of])

    def is_heavy_beyond(self, sd: np.ndarray) -> bool:
        """Return whether the tails of a posterior may be those of a Cauchy prior.

        Parameters
        ----------
        sd : (p,) ndarray
            Posterior sds of the log-odds.

        Returns
        -------
        bool
            Whether some sd is so large beside the scale of a Cauchy prior.
        """
        return bool((sd > HEAVY_REACH * self.heavy_scale).any())

    @property
    def is_uniform(self) -> bool:
        """Whether every block is uniform on theta."""
        return self.custom is None and bool((self.kind == UNIFORM).all())

    @cached_property
    def view(self) -> PriorView:
        """The prior as the kernels take it."""
        from mrfbayes.kernels.priors import PriorView

        address = int(self.custom.function.address) if self.custom else 0
        return PriorView(self.kind.copy(), self.chart.offset.copy(), self.values.copy(), int(self.is_uniform), address)

    def log_density(self, theta: np.ndarray) -> float:
        """Return the log density of theta up to a constant.

        Parameters
        ----------
        theta : (p,) ndarray
            Parameters.

        Returns
        -------
        float
            Log density.
        """
        from mrfbayes.kernels.priors import log_prior

        return float(log_prior(self.view, np.array(theta, dtype=float)))

    @cached_property
    def _precision(self) -> csr_array | None:
        """(p, p) inverse covariance of the exchangeable blocks, zeros elsewhere; None without such blocks."""
        from scipy.sparse import coo_array

        blocks = np.flatnonzero(self.kind == EXCHANGEABLE)
        if not blocks.size:
            return None
        row, column, value = [], [], []
        for block in blocks.tolist():
            rows, columns, scale = self.values[block, :3]
            matrix = Exchangeable(scale).precision((int(rows), int(columns)))
            own = np.arange(self.chart.offset[block], self.chart.offset[block + 1])
            row.append(np.repeat(own, own.size))
            column.append(np.tile(own, own.size))
            value.append(matrix.ravel())
        entries = np.concatenate(value), (np.concatenate(row), np.concatenate(column))
        return coo_array(entries, shape=(self.chart.n_parameters,) * 2).tocsr()

    @cached_property
    def _counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Pseudo-counts of the Dirichlet kinds: (p,) of the free outcomes, (B,) of the whole block; 0 elsewhere."""
        self._refuse_custom()
        chart = self.chart
        counted = (self.kind == UNIFORM) | (self.kind == DIRICHLET)
        position = np.arange(chart.n_parameters) - chart.offset[chart.block_of]
        free = np.where(counted[chart.block_of], self.values[chart.block_of, position], 0.0)
        columns = np.arange(self.values.shape[1])[None, :] < chart.sides[:, None]
        return free, np.where(counted, (self.values * columns).sum(axis=1), 0.0)

    def log_density_w(self, log_odds: np.ndarray) -> float:
        """Return the log density of the log-odds up to a constant.

        Parameters
        ----------
        log_odds : (p,) ndarray
            Log-odds w.

        Returns
        -------
        float
            Log density.
        """
        free, total = self._counts
        value = free @ log_odds + total @ self.chart.log_last_weight(log_odds)
        if self._precision is not None:
            value -= 0.5 * log_odds @ (self._precision @ log_odds)
        return float(value + self._on_log_odds(log_odds)[0].sum())

    def coin_log_densities(self, log_odds: np.ndarray) -> np.ndarray:
        """Return the log density of each log-odds up to a constant, for blocks of one log-odds.

        Parameters
        ----------
        log_odds : (..., p) ndarray
            Log-odds w.

        Returns
        -------
        (..., p) ndarray
            Log densities.
        """
        free, total = self._counts
        own = free * log_odds - total[self.chart.block_of] * np.logaddexp(0.0, log_odds)
        return np.asarray(own + self._on_log_odds(log_odds, 0)[0])

    def gradient_w(self, log_odds: np.ndarray) -> np.ndarray:
        """Return the first derivatives of the log density of the log-odds.

        Parameters
        ----------
        log_odds : (..., p) ndarray
            Log-odds w.

        Returns
        -------
        (..., p) ndarray
            First derivatives.
        """
        free, total = self._counts
        slope = self._on_log_odds(log_odds, 1)[1]
        if total.any():
            slope += free - total[self.chart.block_of] * self.chart.theta(log_odds)
        if self._precision is not None:
            slope -= log_odds @ self._precision
        return np.asarray(slope)

    def hessian_w(self, log_odds: np.ndarray) -> np.ndarray:
        """Return the second derivatives of the log density of the log-odds.

        Parameters
        ----------
        log_odds : (p,) ndarray
            Log-odds w.

        Returns
        -------
        (p,) or (p, p) ndarray
            The diagonal if all blocks have two outcomes, else the full matrix.
        """
        _, total = self._counts
        theta, chart = self.chart.theta(log_odds), self.chart
        weight = total[chart.block_of]
        diagonal = -weight * theta * (1 - theta) + self._on_log_odds(log_odds)[2]
        if chart.all_coins:
            return np.asarray(diagonal)
        same = chart.block_of[:, None] == chart.block_of[None, :]
        matrix = np.where(same, weight[:, None] * np.outer(theta, theta), 0.0)
        np.fill_diagonal(matrix, diagonal)
        return matrix if self._precision is None else np.asarray(matrix - self._precision.toarray())

    def third_w(self, log_odds: np.ndarray) -> np.ndarray:
        """Return the third derivatives of the log density along each coordinate.

        Parameters
        ----------
        log_odds : (p,) ndarray
            Log-odds w.

        Returns
        -------
        (p,) ndarray
            Third derivatives; all of them if all blocks have two outcomes.
        """
        _, total = self._counts
        theta = self.chart.theta(log_odds)
        pure = -total[self.chart.block_of] * theta * (1 - theta) * (1 - 2 * theta)
        return np.asarray(pure + self._on_log_odds(log_odds)[3])

    def fourth_w(self, log_odds: np.ndarray) -> np.ndarray:
        """Return the fourth derivatives of the log density along each coordinate.

        Parameters
        ----------
        log_odds : (p,) ndarray
            Log-odds w.

        Returns
        -------
        (p,) ndarray
            Fourth derivatives.
        """
        _, total = self._counts
        v = self.chart.theta(log_odds)
        v = v * (1 - v)
        return np.asarray(-total[self.chart.block_of] * v * (1 - 6 * v) + self._on_log_odds(log_odds)[4])

    def _on_log_odds(self, w: np.ndarray, most: int = 4) -> np.ndarray:
        """Value and derivatives (most + 1, ..., p) of the kinds that live on log-odds, at w (..., p)."""
        out = np.zeros((most + 1, *w.shape))
        block = self.chart.block_of
        for distribution in (Normal, Cauchy, Logistic):
            own = self.kind[block] == distribution.kind
            if not own.any():
                continue
            location, scale = self.values[block, 0], np.where(own, self.values[block, 1], 1.0)
            found = distribution._derivatives(np.where(own, (w - location) / scale, 0.0))
            for order, values in enumerate(found[: most + 1]):
                out[order] += np.where(own, values / scale**order, 0.0)
        return out

    def _refuse_custom(self) -> None:
        if self.custom:
            remedy = "use method='exact' with engine='mh', or a named prior"
            raise InputError(f"a custom prior has no derivatives here: {remedy}.")


def _shapes(model: Model) -> list[tuple[int, int]]:
    """Rows and columns of the log-odds of each block."""
    shapes = np.empty(model.chart.n_blocks, dtype=object)
    for group in model.groups:
        only = np.empty(1, dtype=object)
        only[0] = group.kind.shape
        shapes[group.block] = only
    return shapes.tolist()


def stored_prior(prior: Prior) -> dict[str, list[object]] | None:
    """A prior as JSON has it: its distinct distributions, and which one each block has; None for a custom function."""
    if prior.custom is not None:
        return None
    distinct = {distribution: k for k, distribution in enumerate(dict.fromkeys(prior.per_block))}
    named: list[object] = [[type(one).__name__.lower(), list(astuple(one))] for one in distinct]
    return {"distributions": named, "blocks": [distinct[one] for one in prior.per_block]}


def read_prior(model: Model, stored: Mapping[str, Sequence[Any]]) -> Prior:
    """The prior that `stored_prior` wrote; an `InputError` where it is none of this model."""
    distinct = [by_name(name, values) for name, values in stored["distributions"]]
    if not all(isinstance(k, int) and 0 <= k < len(distinct) for k in stored["blocks"]):
        raise InputError("the priors in it are not those of a field")
    return Prior(model, [distinct[k] for k in stored["blocks"]])
