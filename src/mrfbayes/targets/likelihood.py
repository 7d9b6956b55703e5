"""`mrfbayes.likelihood`: a method's likelihood as an object, to look at and to evaluate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.checks import numbers
from mrfbayes.base.errors import InputError
from mrfbayes.base.random_streams import Seed, child, seed_sequence
from mrfbayes.base.types import DataLike, Option, ThetaLike, with_own_workspace
from mrfbayes.coins.coin import CoinMarginal
from mrfbayes.coins.die import DieMarginal
from mrfbayes.data.border import counted
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.methods.registry import Row, check_options, method_row
from mrfbayes.model.field import Model, require_model
from mrfbayes.priors import Prior
from mrfbayes.targets.facts import RunFacts

if TYPE_CHECKING:
    from mrfbayes.model.result import PointEstimate


class Likelihood:
    """Likelihood of one method for one data set, from `mrfbayes.likelihood`.

    Parameters
    ----------
    row : Row
        Entry of the method in the registry.
    problem : Problem
        Model and data.
    prepared : Prepared
        Result of the preparation.

    Attributes
    ----------
    method : str
        Name of the method.
    label : str
        Name of the method in tables and figures.
    target : {"exact", "approximate"}
        Whether this is the exact likelihood.
    model : Model
        The field.
    statistics : Statistics
        Sufficient statistics of the data.
    details : dict
        Facts found in the preparation.
    warnings : tuple of str
        Warnings of the preparation.

    See Also
    --------
    likelihood : Returns it.
    target : The posterior density of the log-odds.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2)
    >>> mb.likelihood(model, mb.simulate(model, 0.7, 200, rng=1), "mle").target
    'approximate'
    """

    def __init__(self, row: Row, problem: Problem, prepared: Prepared) -> None:
        self.method, self.label, self.target = row.key, row.label, row.target
        self.model, self.statistics = problem.model, problem.statistics
        self.details, self.warnings = dict(prepared.details), prepared.warnings
        self._view, self._gradient = prepared.view, prepared.gradient
        self._problem = problem

    def __repr__(self) -> str:
        n, p = self.statistics.n, self.model.n_parameters
        return f"<{self.label} likelihood ({self.target}): {p} parameters, n = {n:g}>"

    @property
    def facts(self) -> RunFacts:
        """What was found out in the preparation and other code relies on."""
        return RunFacts.of(self.details)

    @property
    def estimate(self) -> PointEstimate:
        """The maximum likelihood estimate that the method stands on (made now, where it does not)."""
        return self._problem.estimate

    @one_blas_thread()
    def log_likelihood(self, theta: ThetaLike) -> float | np.ndarray:
        """Return the log-likelihood up to a constant that does not depend on theta.

        Parameters
        ----------
        theta : ThetaLike
            Parameters (p,) inside the parameter space, or (..., p) for many sets.

        Returns
        -------
        float or ndarray
            One value for each set of parameters.
        """
        from mrfbayes.kernels.run.chain import log_likelihoods

        p = self.model.n_parameters
        if np.ndim(np.asarray(theta, dtype=object)) <= 1:
            thetas = self.model.theta(theta)[None, :]
            shape: tuple[int, ...] = ()
        else:
            thetas, shape = self._many(theta)
        out = np.empty(len(thetas))
        if self._view is None:
            assert callable(self._gradient)
            out[:] = [self._gradient(w)[0] for w in self.model.chart.log_odds(thetas)]
        else:
            log_likelihoods(with_own_workspace(self._view), np.ascontiguousarray(thetas.reshape(-1, p)), out)
        return float(out[0]) if shape == () else out.reshape(shape)

    def _many(self, theta: object) -> tuple[np.ndarray, tuple[int, ...]]:
        p = self.model.n_parameters
        array = numbers("theta", theta)
        if array.shape[-1] != p:
            raise InputError(f"theta has shape {array.shape}: its last axis must hold the {p} parameters.")
        rows = array.reshape(-1, p)
        last = self.model.chart.last_weight(rows)
        bad = np.flatnonzero(~((rows > 0.0) & (rows < 1.0)).all(axis=1) | ~(last > 0.0).all(axis=1))
        if bad.size:
            self.model.theta(rows[bad[0]], f"theta[{bad[0]}]")
        return rows, array.shape[:-1]

    def marginal(self, j: int | str) -> CoinMarginal | DieMarginal:
        """Return the marginal of one parameter; only the method "mle" has marginals.

        Parameters
        ----------
        j : int or str
            Position in ``model.parameters``, or name.

        Returns
        -------
        CoinMarginal or DieMarginal
            Marginal likelihood of this parameter, or of the whole block of a variable with several states.

        Raises
        ------
        InputError
            If the method has no marginals.
        """
        raise InputError(f"method {self.method!r} has no marginals in closed form: only 'mle' has.")


class InducedLikelihood(Likelihood):
    """MLE-L: coins joined by a copula."""

    def __init__(self, row: Row, problem: Problem, prepared: Prepared) -> None:
        super().__init__(row, problem, prepared)
        assert prepared.induced is not None
        self.induced = prepared.induced

    def marginal(self, j: int | str) -> CoinMarginal | DieMarginal:
        """Marginal of parameter ``j``: its place in ``model.parameters``, or its name.

        For a parameter of a die this is the distribution of the whole die (`mrfbayes.coins.die.DieMarginal`).
        """
        return self.induced.marginal(self.place(j))

    def place(self, j: int | str) -> int:
        """The place in ``model.parameters`` of a parameter given by place or name."""
        p = self.model.n_parameters
        if isinstance(j, str):
            if j not in self.model.parameters:
                raise InputError(f"j = {j!r}: no parameter has this name; see model.parameters.")
            return self.model.parameters.index(j)
        if isinstance(j, (bool, np.bool_)) or not isinstance(j, (int, np.integer)) or not -p <= j < p:
            raise InputError(f"j = {j!r}: give a parameter's name, or its place, a whole number from 0 to {p - 1}.")
        return int(j) % p

    @property
    def log_evidence(self) -> float:
        """Log integral of the likelihood under the uniform prior: subtract it, and the likelihood is a density."""
        return self.induced.log_evidence

    def draw(self, size: int, rng: Seed | None = None) -> np.ndarray:
        """(size, p) independent draws of theta from the likelihood under the uniform prior; no Markov chain."""
        if isinstance(size, (bool, np.bool_)) or not isinstance(size, (int, np.integer)) or size < 0:
            raise InputError(f"size = {size!r}: give a whole number >= 0 of draws.")
        return self.induced.draw(int(size), child(seed_sequence(rng), "direct"))


@one_blas_thread()
def likelihood(
    model: Model,
    data: DataLike,
    method: str = "mle",
    *,
    estimate: PointEstimate | ThetaLike | None = None,
    rng: Seed | None = None,
    **options: Option,
) -> Likelihood:
    """Prepare the likelihood of a method for a data set.

    Parameters
    ----------
    model : Model
        The field.
    data : DataLike
        `Data`, anything that `Data` reads, or `Statistics`.
    method : str, default "mle"
        A method that has a likelihood, such as "mle" or "exact".
    estimate : Estimate or (p,) array_like, optional
        Estimate or theta; by default it is computed if the method needs one.
    rng : int, SeedSequence or Generator, optional
        Seed of simulations in the preparation.
    **options : float, str or array_like
        Options of the method; for "mle": ``rho`` (a number in (-1/(p-1), 1), or a correlation matrix) and ``marginal``
        ("printed" or "gbd").

    Returns
    -------
    Likelihood
        Has ``log_likelihood(theta)``; for "mle" also ``marginal(j)``, ``draw`` and ``log_evidence``.

    Raises
    ------
    InputError
        If the method has no likelihood that can be evaluated.

    See Also
    --------
    sample : Draws from the posterior.
    target : Log density of the posterior in unconstrained coordinates.

    References
    ----------
    Jie Liu and Hao Zheng, MLE-induced Likelihood for Markov Random Fields.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2, tied=True)
    >>> data = mb.simulate(model, 0.7, 500, rng=1)
    >>> exact = mb.likelihood(model, data, "exact")
    >>> bool(exact.log_likelihood([0.7]) > exact.log_likelihood([0.5]))
    True
    """
    require_model(model)
    row = method_row(method)
    prior = Prior(model, "uniform")
    check_options(row, model, prior, options)
    statistics = counted(model, data)
    if estimate is not None and not hasattr(estimate, "theta"):
        model.theta(estimate, "estimate")
    problem = Problem(model, statistics, prior, seed_sequence(rng), estimate, progress=False)
    prepared = row.prepare(problem, **options)
    if prepared.view is None and prepared.gradient is None:
        raise InputError(f"method {method!r} has no likelihood to evaluate: use mrfbayes.sample with it.")
    if prepared.is_ratio:
        raise InputError(f"method {method!r} estimates likelihood ratios only: use mrfbayes.sample with it.")
    return (Likelihood if prepared.induced is None else InducedLikelihood)(row, problem, prepared)
