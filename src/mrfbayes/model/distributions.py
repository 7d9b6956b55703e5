"""Distributions of parameters by name: what a prior is made of. `mrfbayes.priors` is their public place."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

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


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else repr(value)


@dataclass(frozen=True)
class Uniform:
    """Uniform on theta: on (0, 1) for a coin, on the simplex for a die."""

    def encode(self, sides: int) -> tuple[int, list[float]]:
        """Kind and parameters for a block with ``sides`` outcomes."""
        return UNIFORM, [1.0] * sides

    def __str__(self) -> str:
        return "uniform"


@dataclass(frozen=True)
class Beta:
    """Beta(a, b) on the weight of a coin's first outcome."""

    a: float
    b: float

    def encode(self, sides: int) -> tuple[int, list[float]]:
        """Kind and parameters for a block with ``sides`` outcomes."""
        if sides != 2:
            raise InputError(f"beta prior on a die with {sides} outcomes: use Dirichlet.")
        return DIRICHLET, [_within(self.a, "beta: a", CONCENTRATIONS), _within(self.b, "beta: b", CONCENTRATIONS)]

    def __str__(self) -> str:
        return f"beta({_short(self.a)}, {_short(self.b)})"


@dataclass(frozen=True)
class Dirichlet:
    """Dirichlet on the weights of a block: one concentration for all outcomes, or one per outcome."""

    concentration: float | tuple[float, ...]

    def encode(self, sides: int) -> tuple[int, list[float]]:
        """Kind and parameters for a block with ``sides`` outcomes."""
        values = self.concentration
        full = list(values) if isinstance(values, (tuple, list, np.ndarray)) else [values] * sides
        if len(full) != sides:
            raise InputError(f"dirichlet prior with {len(full)} concentrations on a block with {sides} outcomes.")
        return DIRICHLET, [_within(v, "dirichlet: concentration", CONCENTRATIONS) for v in full]

    def __str__(self) -> str:
        return f"dirichlet({self.concentration})"


@dataclass(frozen=True)
class _OnLogOdds:
    """Independent priors on the log-odds w of a block."""

    location: float = 0.0
    scale: float = 1.0
    kind = -1

    def encode(self, sides: int) -> tuple[int, list[float]]:
        """Kind and parameters for a block with ``sides`` outcomes."""
        name = type(self).__name__.lower()
        location = _within(self.location, f"{name}: location", LOCATIONS)
        return self.kind, [location, _within(self.scale, f"{name}: scale", SCALES)]

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()}({_short(self.location)}, {_short(self.scale)})"


class Normal(_OnLogOdds):
    """Normal(location, scale) on the log-odds."""

    kind = NORMAL


class Cauchy(_OnLogOdds):
    """Cauchy(location, scale) on the log-odds (the default of bgms for interactions has scale 2.5 there)."""

    kind = CAUCHY


class Logistic(_OnLogOdds):
    """Logistic(location, scale) on the log-odds; Logistic(0, 1) is Uniform on a coin's theta."""

    kind = LOGISTIC


@dataclass(frozen=True)
class Exchangeable:
    r"""A normal distribution that treats all categories of nominal variables alike.

    Independent normals on all cells of the full table, double-centred. In log-odds w against a reference category the
    covariance is scale^2 / 4 times the Kronecker product of (I + 11') and (I + 11'), for thresholds scale^2 / 2 times
    (I + 11'): every log-odds (ratio) has standard deviation ``scale``, whichever category is the reference. On a single
    log-odds it is Normal(0, scale).
    """

    scale: float = 1.0

    def encode(self, sides: int, shape: tuple[int, int] | None = None) -> tuple[int, list[float]]:
        """Kind and parameters for a block with ``sides`` outcomes, a table of ``shape`` log-odds."""
        scale = _within(self.scale, "exchangeable: scale", SCALES)
        if sides == 2:
            return NORMAL, [0.0, scale]
        rows, columns = shape or (sides - 1, 1)
        return EXCHANGEABLE, [float(rows), float(columns), scale]

    def precision(self, shape: tuple[int, int]) -> np.ndarray:
        """The inverse of the covariance of a table of ``shape`` log-odds, flat."""
        rows, columns = (np.eye(k) - 1 / (k + 1) for k in shape)
        return np.asarray(4 / self.scale**2 * np.kron(rows, columns))

    def __str__(self) -> str:
        return f"exchangeable({_short(self.scale)})"


Distribution = Uniform | Beta | Dirichlet | Normal | Cauchy | Logistic | Exchangeable
_BY_NAME: dict[str, Callable[..., Distribution]] = {
    "uniform": Uniform,
    "beta": Beta,
    "dirichlet": Dirichlet,
    "normal": Normal,
    "cauchy": Cauchy,
    "logistic": Logistic,
    "exchangeable": Exchangeable,
}


def by_name(name: str, arguments: Iterable[object]) -> Distribution:
    """The distribution of that name; lists among its arguments, as JSON has them, become tuples."""
    return _BY_NAME[name](*(tuple(a) if isinstance(a, list) else a for a in arguments))


def parse(text: str, argument: str = "prior") -> Distribution:
    """The distribution called e.g. ``"normal(0, 1)"``."""
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
