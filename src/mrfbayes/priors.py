"""Prior distributions of the parameters, on theta or on the log-odds.

A prior is given as one distribution for all blocks, as its name (``"uniform"``, ``"beta(2, 2)"``,
``"normal(0, 1)"``), as a mapping from ``"edges"``, ``"nodes"`` or a block's name to a distribution, or as a list with a
distribution for every block in the order of ``model.blocks``.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from mrfbayes.base.errors import InputError

if TYPE_CHECKING:
    from mrfbayes.kernels.priors import PriorView
    from mrfbayes.model.field import Model

_UNIFORM, _DIRICHLET, _NORMAL, _CAUCHY, _LOGISTIC = range(5)  # as in mrfbayes.kernels.priors (tested)


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
        return _UNIFORM, [1.0] * sides

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
        return _DIRICHLET, [_within(self.a, "beta: a", CONCENTRATIONS), _within(self.b, "beta: b", CONCENTRATIONS)]

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
        return _DIRICHLET, [_within(v, "dirichlet: concentration", CONCENTRATIONS) for v in full]

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

    kind = _NORMAL


class Cauchy(_OnLogOdds):
    """Cauchy(location, scale) on the log-odds (the default of bgms for interactions has scale 2.5 there)."""

    kind = _CAUCHY


class Logistic(_OnLogOdds):
    """Logistic(location, scale) on the log-odds; Logistic(0, 1) is Uniform on a coin's theta."""

    kind = _LOGISTIC


class CompiledFunction(Protocol):
    """What `numba.cfunc` makes."""

    @property
    def address(self) -> int:
        """Where the compiled code is."""


@dataclass(frozen=True)
class Custom:
    """Any log density of theta as a `numba.cfunc` with signature ``float64(CPointer(float64), int64)``."""

    function: CompiledFunction

    def __str__(self) -> str:
        return f"custom({getattr(self.function, '__name__', 'cfunc')})"


Distribution = Uniform | Beta | Dirichlet | Normal | Cauchy | Logistic
_BY_NAME: dict[str, Callable[..., Distribution]] = {
    "uniform": Uniform,
    "beta": Beta,
    "dirichlet": Dirichlet,
    "normal": Normal,
    "cauchy": Cauchy,
    "logistic": Logistic,
}


def by_name(name: str, arguments: Iterable[object]) -> Distribution:
    """The distribution of that name; lists among its arguments, as JSON has them, become tuples."""
    return _BY_NAME[name](*(tuple(a) if isinstance(a, list) else a for a in arguments))


def parse(text: str) -> Distribution:
    """The distribution called e.g. ``"normal(0, 1)"``."""
    if len(text) > 200:
        raise InputError(f"prior = {text[:40]!r}...: expected a name with arguments, as in 'normal(0, 1)'.")
    name, _, arguments = text.strip().partition("(")
    choices = ", ".join(sorted(_BY_NAME))
    if name.strip().lower() not in _BY_NAME or (arguments and not arguments.endswith(")")):
        raise InputError(f"prior = {text!r}: expected one of {choices}, with arguments as in 'normal(0, 1)'.")
    try:
        return by_name(name.strip().lower(), ast.literal_eval(f"({arguments[:-1]},)") if arguments[:-1].strip() else ())
    except (TypeError, ValueError, SyntaxError, RecursionError, MemoryError):
        raise InputError(f"prior = {text!r}: its arguments cannot be read; write e.g. 'beta(2, 2)'.") from None


class Prior:
    """The prior of a model's parameters: a distribution per block, or one custom function of all of theta.

    All derivatives are in the log-odds w, of the log density *of w* (Jacobian included), which is what posterior modes
    and curvatures need. For the uniform prior that is the sum of log theta_k over all outcomes.
    """

    def __init__(self, model: Model, given: object = "uniform") -> None:
        self.chart = model.chart
        self.custom = given if isinstance(given, Custom) else None
        if hasattr(given, "address") and hasattr(given, "ctypes"):
            self.custom = Custom(given)
        self.per_block = _per_block(model, "uniform" if self.custom else given)
        # Millions of blocks share a few distributions: each pair of distribution and sides is encoded once.
        pairs = [(id(d), int(k)) for d, k in zip(self.per_block, self.chart.sides.tolist(), strict=True)]
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
    def is_uniform(self) -> bool:
        """Whether every block is uniform on theta."""
        return self.custom is None and bool((self.kind == _UNIFORM).all())

    @cached_property
    def view(self) -> PriorView:
        """The prior as the kernels take it."""
        from mrfbayes.kernels.priors import PriorView

        address = int(self.custom.function.address) if self.custom else 0
        return PriorView(self.kind.copy(), self.chart.offset.copy(), self.values.copy(), int(self.is_uniform), address)

    def log_density(self, theta: np.ndarray) -> float:
        """Log density in theta, up to a constant."""
        from mrfbayes.kernels.priors import log_prior

        return float(log_prior(self.view, np.array(theta, dtype=float)))

    @cached_property
    def _counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Pseudo-counts of the Dirichlet kinds: (p,) of the free outcomes, (B,) of the whole block; 0 elsewhere."""
        chart = self.chart
        counted = (self.kind == _UNIFORM) | (self.kind == _DIRICHLET)
        position = np.arange(chart.n_parameters) - chart.offset[chart.block_of]
        free = np.where(counted[chart.block_of], self.values[chart.block_of, position], 0.0)
        columns = np.arange(self.values.shape[1])[None, :] < chart.sides[:, None]
        return free, np.where(counted, (self.values * columns).sum(axis=1), 0.0)

    def log_density_w(self, log_odds: np.ndarray) -> float:
        """Log density of w, up to a constant."""
        self._refuse_custom()
        free, total = self._counts
        value = free @ log_odds + total @ self.chart.log_last_weight(log_odds)
        return float(value + self._on_log_odds(log_odds)[0].sum())

    def gradient_w(self, log_odds: np.ndarray) -> np.ndarray:
        """First derivatives (..., p) at w (..., p)."""
        self._refuse_custom()
        free, total = self._counts
        slope = self._on_log_odds(log_odds, 1)[1]
        if total.any():
            slope += free - total[self.chart.block_of] * self.chart.theta(log_odds)
        return np.asarray(slope)

    def hessian_w(self, log_odds: np.ndarray) -> np.ndarray:
        """Diagonal (p,) of second derivatives where all blocks are coins, else the full (p, p) matrix."""
        self._refuse_custom()
        _, total = self._counts
        theta, chart = self.chart.theta(log_odds), self.chart
        weight = total[chart.block_of]
        diagonal = -weight * theta * (1 - theta) + self._on_log_odds(log_odds)[2]
        if chart.all_coins:
            return np.asarray(diagonal)
        same = chart.block_of[:, None] == chart.block_of[None, :]
        matrix = np.where(same, weight[:, None] * np.outer(theta, theta), 0.0)
        np.fill_diagonal(matrix, diagonal)
        return matrix

    def third_w(self, log_odds: np.ndarray) -> np.ndarray:
        """Third derivatives (p,) along each coordinate (all of them where all blocks are coins)."""
        self._refuse_custom()
        _, total = self._counts
        theta = self.chart.theta(log_odds)
        pure = -total[self.chart.block_of] * theta * (1 - theta) * (1 - 2 * theta)
        return np.asarray(pure + self._on_log_odds(log_odds)[3])

    def fourth_w(self, log_odds: np.ndarray) -> np.ndarray:
        """Fourth derivatives (p,) along each coordinate."""
        self._refuse_custom()
        _, total = self._counts
        v = self.chart.theta(log_odds)
        v = v * (1 - v)
        return np.asarray(-total[self.chart.block_of] * v * (1 - 6 * v) + self._on_log_odds(log_odds)[4])

    def _on_log_odds(self, w: np.ndarray, most: int = 4) -> np.ndarray:
        """Value and derivatives (most + 1, ..., p) of the kinds that live on log-odds, at w (..., p)."""
        out = np.zeros((most + 1, *w.shape))
        block = self.chart.block_of
        for code, derivatives in ((_NORMAL, _normal), (_CAUCHY, _cauchy), (_LOGISTIC, _logistic)):
            own = self.kind[block] == code
            if not own.any():
                continue
            location, scale = self.values[block, 0], np.where(own, self.values[block, 1], 1.0)
            found = derivatives(np.where(own, (w - location) / scale, 0.0))
            for order, values in enumerate(found[: most + 1]):
                out[order] += np.where(own, values / scale**order, 0.0)
        return out

    def _refuse_custom(self) -> None:
        if self.custom:
            raise InputError(
                "a custom prior has no derivatives here: use method='exact' with engine='mh', or a named prior."
            )


def _normal(z: np.ndarray) -> tuple[np.ndarray, ...]:
    """Log density and its four derivatives, standardised."""
    nothing = np.zeros_like(z)
    return -z * z / 2, -z, -np.ones_like(z), nothing, nothing


def _cauchy(z: np.ndarray) -> tuple[np.ndarray, ...]:
    q = 1 + z * z
    fourth = 12 * (1 - 6 * z**2 + z**4) / q**4
    return -np.log(q), -2 * z / q, -2 * (1 - z**2) / q**2, 4 * z * (3 - z**2) / q**3, fourth


def _logistic(z: np.ndarray) -> tuple[np.ndarray, ...]:
    tanh = np.tanh(z / 2)
    v = (1 - tanh**2) / 2  # 2 p (1 - p) at p = logistic(z)
    return -np.abs(z) - 2 * np.log1p(np.exp(-np.abs(z))), -tanh, -v, v * tanh, v * (v - tanh**2)


def _per_block(model: Model, given: object) -> list[Distribution]:
    if isinstance(given, str):
        given = parse(given)
    if isinstance(given, (Uniform, Beta, Dirichlet, Normal, Cauchy, Logistic)):
        return [given] * model.chart.n_blocks
    if isinstance(given, (list, tuple)):
        if len(given) != model.chart.n_blocks:
            raise InputError(f"prior: a list of {len(given)} distributions for {model.chart.n_blocks} blocks.")
        made = [parse(entry) if isinstance(entry, str) else entry for entry in given]
        if strange := [entry for entry in made if not isinstance(entry, Distribution)]:
            raise InputError(f"prior: {strange[0]!r} in the list is not a distribution, such as 'normal(0, 1)'.")
        return made
    if not isinstance(given, Mapping):
        raise InputError(
            f"prior = {given!r}: give a name such as 'normal(0, 1)', a distribution, a mapping or a cfunc."
        )
    table = {str(key): parse(value) if isinstance(value, str) else value for key, value in given.items()}
    for key, value in table.items():
        if not isinstance(value, (Uniform, Beta, Dirichlet, Normal, Cauchy, Logistic)):
            raise InputError(f"prior[{key!r}] = {value!r}: give a name such as 'normal(0, 1)', or a distribution.")
    _refuse_double_meaning(model, table)
    on_edges = np.zeros(model.chart.n_blocks, dtype=bool)
    for group in model.groups:
        if group.arity == 2:
            on_edges[group.block] = True
    unknown = set(table) - {"edges", "nodes"} - set(model.blocks)
    if unknown:
        raise InputError(
            f"prior: no block is called {sorted(unknown)[0]!r}; use 'edges', 'nodes' or a name of model.blocks."
        )
    default = Uniform()
    return [
        table.get(name, table.get("edges" if edge else "nodes", default))
        for name, edge in zip(model.blocks, on_edges, strict=True)
    ]


def _refuse_double_meaning(model: Model, table: Mapping[str, object]) -> None:
    """A node called "edges" has a block of that name, and a prior for "edges" would mean either."""
    for key in ("edges", "nodes"):
        if key in table and key in model.nodes and key in model.blocks:
            raise InputError(
                f"prior[{key!r}]: a node is called {key!r}, too, so it is not clear which is meant; rename the node."
            )
