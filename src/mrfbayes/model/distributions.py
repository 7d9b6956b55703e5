"""Distributions of parameters by name: what a prior is made of. `mrfbayes.priors` is their public place."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast, get_args

import numpy as np

from mrfbayes.base.errors import InputError

UNIFORM, DIRICHLET, NORMAL, CAUCHY, LOGISTIC, EXCHANGEABLE = range(6)  # as in mrfbayes.kernels.priors (tested)


# Beyond these a prior is a point or a pole to double precision: log densities overflow, theta rounds to 0 or 1.
CONCENTRATIONS = (1e-6, 1e9)
SCALES = (1e-6, 1e6)
LOCATIONS = (-30.0, 30.0)  # of log-odds: 1 - theta is 1e-13 there


def _within(value: object, what: str, bounds: tuple[float, float]) -> float:
    """A number within ``bounds``, or an `InputError` that says which numbers are."""
    number = float(value) if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) else math.nan
    if not (math.isfinite(number) and bounds[0] <= number <= bounds[1]):
        kind = "a number" if bounds[0] < 0 else "a positive number"
        raise InputError(f"{what} = {value!r}: must be {kind}, from {bounds[0]:g} to {bounds[1]:g}.")
    return number


def n_outcomes(shape: tuple[int, int]) -> int:
    """Number of outcomes of a block whose log-odds have this shape."""
    return shape[0] * shape[1] + 1


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else repr(value)


class _Named:
    """A distribution is shown by its name and its parameters."""

    def __str__(self) -> str:
        name, values = type(self).__name__.lower(), [getattr(self, one.name) for one in fields(cast("Any", self))]
        return f"{name}({', '.join(map(_short, values))})" if values else name


@dataclass(frozen=True)
class Uniform(_Named):
    """Uniform on theta: on (0, 1) for a coin, on the simplex for a die.

    See Also
    --------
    Logistic : The same on the log-odds of two outcomes.
    Beta : Other shapes.

    Examples
    --------
    >>> from mrfbayes import priors
    >>> priors.parse("uniform")
    Uniform()
    """

    def encode(self, shape: tuple[int, int]) -> tuple[int, list[float]]:
        """Return kind and parameters of the distribution for a block.

        Parameters
        ----------
        shape : tuple of int
            Rows and columns of the log-odds of the block.

        Returns
        -------
        kind : int
            Code of the distribution.
        parameters : list of float
            Its parameters.
        """
        return UNIFORM, [1.0] * n_outcomes(shape)


@dataclass(frozen=True)
class Beta(_Named):
    """Beta(a, b) distribution of the weight of the first outcome of a block with two outcomes.

    Parameters
    ----------
    a : float
        First shape parameter, above 0.
    b : float
        Second shape parameter, above 0.

    See Also
    --------
    Dirichlet : Blocks with more outcomes.
    Uniform : Beta(1, 1).

    Examples
    --------
    >>> from mrfbayes import priors
    >>> priors.Beta(2, 2)
    Beta(a=2, b=2)
    """

    a: float
    b: float

    def encode(self, shape: tuple[int, int]) -> tuple[int, list[float]]:
        """Return kind and parameters of the distribution for a block.

        Parameters
        ----------
        shape : tuple of int
            Rows and columns of the log-odds of the block.

        Returns
        -------
        kind : int
            Code of the distribution.
        parameters : list of float
            Its parameters.

        Raises
        ------
        InputError
            If the block has more than two outcomes.
        """
        if n_outcomes(shape) != 2:
            raise InputError(f"beta prior on a block with {n_outcomes(shape)} outcomes: use Dirichlet.")
        return DIRICHLET, [_within(self.a, "beta: a", CONCENTRATIONS), _within(self.b, "beta: b", CONCENTRATIONS)]


@dataclass(frozen=True)
class Dirichlet(_Named):
    """Dirichlet distribution of the weights of a block.

    Parameters
    ----------
    concentration : float or tuple of float
        One concentration for all outcomes, or one per outcome.

    See Also
    --------
    Beta : Blocks with two outcomes.
    Uniform : Concentration 1.

    Examples
    --------
    >>> from mrfbayes import priors
    >>> priors.Dirichlet(2)
    Dirichlet(concentration=2)
    """

    concentration: float | tuple[float, ...]

    def encode(self, shape: tuple[int, int]) -> tuple[int, list[float]]:
        """Return kind and parameters of the distribution for a block.

        Parameters
        ----------
        shape : tuple of int
            Rows and columns of the log-odds of the block.

        Returns
        -------
        kind : int
            Code of the distribution.
        parameters : list of float
            Its parameters.

        Raises
        ------
        InputError
            If the block has another number of outcomes.
        """
        values, sides = self.concentration, n_outcomes(shape)
        full = list(values) if isinstance(values, (tuple, list, np.ndarray)) else [values] * sides
        if len(full) != sides:
            raise InputError(f"dirichlet prior with {len(full)} concentrations on a block with {sides} outcomes.")
        return DIRICHLET, [_within(v, "dirichlet: concentration", CONCENTRATIONS) for v in full]


@dataclass(frozen=True)
class _OnLogOdds(_Named):
    """Independent priors on the log-odds w of a block."""

    location: float = 0.0
    scale: float = 1.0
    kind = -1

    @staticmethod
    def _derivatives(z: np.ndarray) -> tuple[np.ndarray, ...]:
        """Log density at location 0 and scale 1, up to a constant, and its first four derivatives."""
        raise NotImplementedError

    def encode(self, shape: tuple[int, int]) -> tuple[int, list[float]]:
        """Return kind and parameters of the distribution for a block.

        Parameters
        ----------
        shape : tuple of int
            Rows and columns of the log-odds of the block.

        Returns
        -------
        kind : int
            Code of the distribution.
        parameters : list of float
            Its parameters.
        """
        name = type(self).__name__.lower()
        location = _within(self.location, f"{name}: location", LOCATIONS)
        return self.kind, [location, _within(self.scale, f"{name}: scale", SCALES)]


class Normal(_OnLogOdds):
    """Normal distribution of the log-odds.

    Parameters
    ----------
    location : float, default 0
        Mean.
    scale : float, default 1
        Standard deviation.

    See Also
    --------
    Cauchy : Heavier tails.
    parse : From a text.

    Examples
    --------
    >>> from mrfbayes import priors
    >>> priors.parse("normal(0, 0.5)")
    Normal(location=0, scale=0.5)
    """

    kind = NORMAL

    @staticmethod
    def _derivatives(z: np.ndarray) -> tuple[np.ndarray, ...]:
        nothing = np.zeros_like(z)
        return -z * z / 2, -z, -np.ones_like(z), nothing, nothing


class Cauchy(_OnLogOdds):
    """Cauchy distribution of the log-odds.

    Parameters
    ----------
    location : float, default 0
        Median.
    scale : float, default 1
        Half-width at half maximum; the default of bgms for interactions is 2.5.

    See Also
    --------
    Normal : Lighter tails.
    parse : From a text.

    Examples
    --------
    >>> from mrfbayes import priors
    >>> priors.Cauchy(0, 2.5)
    Cauchy(location=0, scale=2.5)
    """

    kind = CAUCHY

    @staticmethod
    def _derivatives(z: np.ndarray) -> tuple[np.ndarray, ...]:
        q = 1 + z * z
        fourth = 12 * (1 - 6 * z**2 + z**4) / q**4
        return -np.log(q), -2 * z / q, -2 * (1 - z**2) / q**2, 4 * z * (3 - z**2) / q**3, fourth


class Logistic(_OnLogOdds):
    """Logistic distribution of the log-odds; Logistic(0, 1) is uniform on theta of a block with two outcomes.

    Parameters
    ----------
    location : float, default 0
        Mean.
    scale : float, default 1
        Scale.

    See Also
    --------
    Uniform : Logistic(0, 1), for two outcomes.
    Normal : Lighter tails.

    Examples
    --------
    >>> from mrfbayes import priors
    >>> priors.Logistic()
    Logistic(location=0.0, scale=1.0)
    """

    kind = LOGISTIC

    @staticmethod
    def _derivatives(z: np.ndarray) -> tuple[np.ndarray, ...]:
        tanh = np.tanh(z / 2)
        v = (1 - tanh**2) / 2  # 2 p (1 - p) at p = logistic(z)
        return -np.abs(z) - 2 * np.log1p(np.exp(-np.abs(z))), -tanh, -v, v * tanh, v * (v - tanh**2)


@dataclass(frozen=True)
class Exchangeable(_Named):
    """Normal distribution that is symmetric in all categories of nominal variables.

    Independent normals on all cells of the full table, double-centred. In log-odds w against a reference category the
    covariance is scale^2 / 4 times the Kronecker product of (I + 11') and (I + 11'), for thresholds scale^2 / 2 times
    (I + 11'): every log-odds (ratio) has standard deviation ``scale``, whichever category is the reference. On a single
    log-odds it is Normal(0, scale).

    Parameters
    ----------
    scale : float
        Standard deviation of every log-odds (ratio).

    See Also
    --------
    Normal : One log-odds at a time.
    default_prior : Where it is used.

    Examples
    --------
    >>> from mrfbayes import priors
    >>> priors.Exchangeable(1)
    Exchangeable(scale=1)
    """

    scale: float = 1.0

    def encode(self, shape: tuple[int, int]) -> tuple[int, list[float]]:
        """Return kind and parameters of the distribution for a block.

        Parameters
        ----------
        shape : tuple of int
            Rows and columns of the log-odds of the block.

        Returns
        -------
        kind : int
            Code of the distribution.
        parameters : list of float
            Its parameters.
        """
        scale = _within(self.scale, "exchangeable: scale", SCALES)
        if shape == (1, 1):
            return NORMAL, [0.0, scale]
        return EXCHANGEABLE, [float(shape[0]), float(shape[1]), scale]

    def precision(self, shape: tuple[int, int]) -> np.ndarray:
        """Return the precision matrix of a table of log-odds.

        Parameters
        ----------
        shape : tuple of int
            Shape of the table.

        Returns
        -------
        ndarray
            Inverse covariance matrix of the flat table.
        """
        rows, columns = (np.eye(k) - 1 / (k + 1) for k in shape)
        return np.asarray(4 / self.scale**2 * np.kron(rows, columns))


Distribution = Uniform | Beta | Dirichlet | Normal | Cauchy | Logistic | Exchangeable
_BY_NAME: dict[str, Callable[..., Distribution]] = {kind.__name__.lower(): kind for kind in get_args(Distribution)}


def by_name(name: str, arguments: Iterable[float | Sequence[float]]) -> Distribution:
    """Return the distribution with a name and arguments.

    Parameters
    ----------
    name : str
        Name, such as "normal".
    arguments : iterable
        Its arguments; lists, as JSON has them, become tuples.

    Returns
    -------
    Distribution
        The distribution.

    See Also
    --------
    parse : From a text with its numbers.

    Examples
    --------
    >>> from mrfbayes import priors
    >>> priors.by_name("cauchy", [0, 2.5])
    Cauchy(location=0, scale=2.5)
    """
    return _BY_NAME[name](*(tuple(a) if isinstance(a, list) else a for a in arguments))


def parse(text: str, argument: str = "prior") -> Distribution:
    """Return the distribution that a text describes.

    Parameters
    ----------
    text : str
        Such as "normal(0, 1)".
    argument : str, default "prior"
        Name of the argument in error messages.

    Returns
    -------
    Distribution
        The distribution.

    Raises
    ------
    InputError
        If the text is not the name of a distribution with its parameters.

    See Also
    --------
    by_name : From a name and numbers.

    Examples
    --------
    >>> from mrfbayes import priors
    >>> priors.parse("normal(0, 2)")
    Normal(location=0, scale=2)
    """
    if len(text) > 200:
        raise InputError(f"{argument} = {text[:40]!r}...: expected a name with arguments, as in 'normal(0, 1)'.")
    name, _, arguments = text.strip().partition("(")
    choices = ", ".join(sorted(_BY_NAME))
    if name.strip().lower() not in _BY_NAME or (arguments and not arguments.endswith(")")):
        raise InputError(f"{argument} = {text!r}: expected one of {choices}, with arguments as in 'normal(0, 1)'.")
    try:
        return by_name(name.strip().lower(), ast.literal_eval(f"({arguments[:-1]},)") if arguments[:-1].strip() else ())
    except (TypeError, ValueError, SyntaxError, RecursionError, MemoryError):
        raise InputError(f"{argument} = {text!r}: its arguments cannot be read; write e.g. 'beta(2, 2)'.") from None
