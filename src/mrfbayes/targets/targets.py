"""`mrfbayes.target`: the log posterior density of the log-odds, for samplers of other packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.checks import numbers
from mrfbayes.base.digests import digest_of
from mrfbayes.base.errors import InputError
from mrfbayes.base.random_streams import Seed, seed_sequence
from mrfbayes.base.types import DataLike, Option, PriorLike, with_own_workspace
from mrfbayes.data.border import counted
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.methods.registry import REGISTRY, Row, check_options, method_row
from mrfbayes.model.field import Model, require_model
from mrfbayes.priors import Prior

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Target:
    """Unnormalised log posterior density of the log-odds w of a field, from `mrfbayes.target`.

    Threads may share one target.

    Parameters
    ----------
    row : Row
        Entry of the method in the registry.
    problem : Problem
        Model, data and prior.
    prepared : Prepared
        Result of the preparation.
    options : dict
        Options of the method.

    Attributes
    ----------
    names : tuple of str
        Names of the parameters, in the order of w.
    dim : int
        Number p of parameters.
    digest : str
        SHA-256 of all numbers that the density depends on.
    has_gradient : bool
        Whether `value_and_gradient` is available.

    See Also
    --------
    target : Returns it.
    mrfbayes.bridges.jax.log_density : The same density for JAX.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> density = mb.target(mb.grid(1, 2), [[0, 0], [1, 1], [0, 1]])
    >>> value, gradient = density.value_and_gradient([0.0])
    >>> gradient.tolist()
    [0.5]
    """

    def __init__(self, row: Row, problem: Problem, prepared: Prepared, options: dict[str, Option]) -> None:
        self.model, self.method = problem.model, row.key
        self.names, self.dim = problem.model.parameters, problem.model.n_parameters
        self._problem, self._prepared = problem, prepared
        estimate = np.asarray(problem.estimate.log_odds) if problem.has_estimate else None
        parts = [problem.model.fingerprint, problem.statistics.digest, problem.prior.digest, row.key, options, estimate]
        self.digest = digest_of(parts)

    def __repr__(self) -> str:
        return f"<Target: {self.method} posterior of {self.dim} log-odds, n = {self._problem.statistics.n:g}>"

    @property
    def has_gradient(self) -> bool:
        """Whether `value_and_gradient` is available, that is, method and prior have derivatives."""
        return self._prepared.gradient is not None and self._problem.prior.custom is None

    @one_blas_thread()
    def log_density(self, w: ArrayLike) -> float | np.ndarray:
        """Log posterior density of w, Jacobian included, up to a constant.

        Parameters
        ----------
        w : array_like of shape (p,) or (..., p)
            Log-odds.

        Returns
        -------
        float or ndarray of the leading shape
            Minus infinity where the density cannot be computed.
        """
        from mrfbayes.kernels.run.chain import log_targets

        points = self._points(w)
        rows, out = points.reshape(-1, self.dim), np.empty(points.size // max(self.dim, 1))
        if self._prepared.view is None:
            out[:] = [self._value_and_gradient(row)[0] for row in rows]
        else:
            view = with_own_workspace(self._prepared.view)
            log_targets(view, self._problem.prior.view, np.ascontiguousarray(rows), np.empty(self.dim), out)
        return float(out[0]) if points.ndim == 1 else out.reshape(points.shape[:-1])

    @one_blas_thread()
    def value_and_gradient(self, w: ArrayLike) -> tuple[float, np.ndarray]:
        """Return the log posterior density of w, up to the constant of `log_density`, and its gradient.

        Parameters
        ----------
        w : (p,) array_like
            Log-odds.

        Returns
        -------
        value : float
            Log density.
        gradient : (p,) ndarray
            Its gradient.

        Raises
        ------
        InputError
            If the method or the prior has no derivatives.
        """
        if not self.has_gradient:
            raise InputError(
                f"method = {self.method!r} with prior {self._problem.prior} has no gradient: use method='exact' or "
                "'pseudo' with a named prior."
            )
        points = self._points(w)
        if points.ndim != 1:
            raise InputError(f"w has shape {points.shape}, expected ({self.dim},): one point at a time.")
        return self._value_and_gradient(points)

    def _value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        from mrfbayes.kernels.priors import log_prior_gradient
        from mrfbayes.kernels.run.chain import gradient_at

        gradient = self._prepared.gradient
        assert gradient is not None
        if callable(gradient):
            value, slope = gradient(w)
            slope = np.array(slope, dtype=float)
        else:
            slope = np.empty(self.dim)
            value = gradient_at(with_own_workspace(gradient), w, slope)
        return float(value + log_prior_gradient(self._problem.prior.view, w, slope)), slope

    def unpack(self, w: ArrayLike) -> dict[str, float | np.ndarray]:
        """Return the parameters theta of w by name.

        Parameters
        ----------
        w : (..., p) array_like
            Log-odds.

        Returns
        -------
        dict of str to float or ndarray
            Theta by name.
        """
        theta = self.model.chart.theta(self._points(w))
        return {name: theta[..., j] if theta.ndim > 1 else float(theta[j]) for j, name in enumerate(self.names)}

    def _points(self, w: ArrayLike) -> np.ndarray:
        points = numbers("w", w)
        if points.ndim == 0 or points.shape[-1] != self.dim:
            raise InputError(f"w has shape {points.shape}: its last axis must hold the {self.dim} log-odds.")
        return points


@one_blas_thread()
def target(
    model: Model,
    data: DataLike,
    *,
    prior: PriorLike = "default",
    method: str = "exact",
    rng: Seed | None = None,
    **options: Option,
) -> Target:
    """Make the log posterior density of a field, to be sampled by NumPyro, BlackJAX, PyMC or your own code.

    Parameters
    ----------
    model : Model
        The field.
    data : array_like, table, path or Statistics
        The observations.
    prior : str, mapping or distribution, default "default"
        As in `mrfbayes.sample`.
    method : str, default "exact"
        A method with a likelihood: "exact" and "pseudo" have gradients as well.
    rng : int or SeedSequence, default 0
        Seed of what the preparation may have to simulate.
    **options
        Those of the method.

    Returns
    -------
    Target
        With ``log_density(w)``, ``value_and_gradient(w)``, ``names`` and ``unpack(w)``.

    Raises
    ------
    InputError
        Where the method has no density.

    See Also
    --------
    Target : What it returns.
    mrfbayes.bridges.jax.log_density : The same density for JAX.
    mrfbayes.bridges.pytensor.log_density : The same density for PyMC.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> density = mb.target(mb.grid(1, 2), [[0, 0], [1, 1], [0, 1]])
    >>> round(density.log_density([0.0]), 6)
    -5.545177
    """
    require_model(model)
    row = method_row(method)
    if "density" not in row.offers:
        able = ", ".join(repr(key) for key, other in REGISTRY.items() if "density" in other.offers)
        raise InputError(f"method = {method!r} has no density to evaluate: choose one of {able}.")
    given = Prior(model, prior)
    check_options(row, model, given, options)
    problem = Problem(model, counted(model, data), given, seed_sequence(rng), progress=False)
    return Target(row, problem, row.prepare(problem, **options), dict(options))
