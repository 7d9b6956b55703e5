r"""The evidence of single graphs to one loop, to score the graphs that a search has visited.

At the mode of the log posterior L in log-odds, with S the inverse of minus its Hessian and p parameters,

.. math:: \log p(X \mid G) \approx L + \tfrac p2 \log 2\pi + \tfrac12 \log|S| + \tfrac18 L_{abcd} S_{ab} S_{cd}
    + \tfrac1{12} L_{abc} L_{def} S_{ad} S_{be} S_{cf} + \tfrac18 L_{abc} S_{bc} S_{ad} L_{def} S_{ef}

L's derivatives are -n times the field's cumulants plus those of the prior; with D = s - E[s] and Q = D'SD the sums over
the field need :math:`E[Q^2]`, :math:`E[Q D]` and :math:`E[(D'SD')^3]` over pairs of configurations. log Z, means and
covariances are exact: a recursion on the graph where that is quick, else sums over all configurations. On fields of up
to 4,096 configurations so are the three loop terms; else they are averages over exact samples of the graph's field,
whose noise is a fraction of a small correction.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from mrfbayes.base.random_streams import child, generator
from mrfbayes.calibration.expansion import PriorTensors, prior_information, prior_tensors
from mrfbayes.estimation.newton import predicted_seconds
from mrfbayes.exact import quantities as exact
from mrfbayes.model.field import Model
from mrfbayes.model.subfields import with_edges
from mrfbayes.particles.moments import row_statistics
from mrfbayes.priors import Prior

MOST_CONFIGURATIONS = 2**18  # of the field, that are gone through one by one
LOOP_CONFIGURATIONS = 4_096  # up to which all pairs are
PASSES_SECONDS = 0.1  # predicted of an estimate by recursions on one graph; with its loops it is about ten times that
RESCORING_SAMPLES, PAIRED_SAMPLES = 8_192, 2_048
LOOP_SEED = np.random.SeedSequence(0)
_NEWTON_STEPS = 60
_GOOD_STEP = 0.3  # length relative to the step before, up to which an old information will do
_NEAR_MODE = 1e-5  # log-odds: the evidence is off by the square of that
_AT_ONCE = 16_384
_PAIRS_AT_ONCE = 512
_LEAST_CURVATURE = 1e-6


class Deviations(NamedTuple):
    """D (k, p) of configurations and their weights (k,), which sum to one; all of the field, or a sample."""

    d: np.ndarray
    weight: np.ndarray
    is_all: bool


class GraphField(Protocol):
    """The field of one graph, in its own parameters."""

    def moments(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """log Z and E[s]."""

    def covariance(self, w: np.ndarray) -> np.ndarray:
        """Cov[s], which is much dearer."""

    def deviations(self, w: np.ndarray, mean: np.ndarray) -> Deviations:
        """Configurations over which loops are averaged."""


class StatesField:
    """A graph on a field whose configurations, with statistics s (N, p), are few."""

    def __init__(self, statistics: np.ndarray) -> None:
        self._s = np.ascontiguousarray(statistics, dtype=float)

    def _probability(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        energy = self._s @ w
        top = float(energy.max())
        weight = np.exp(energy - top)
        total = float(weight.sum())
        return top + math.log(total), weight / total

    def moments(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """See `GraphField`."""
        log_z, probability = self._probability(w)
        return log_z, np.asarray(probability @ self._s)

    def covariance(self, w: np.ndarray) -> np.ndarray:
        """See `GraphField`."""
        _, probability = self._probability(w)
        mean, square = probability @ self._s, np.zeros((w.size, w.size))
        for first in range(0, len(self._s), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            d = self._s[part] - mean
            square += (d * probability[part, None]).T @ d
        return square

    def deviations(self, w: np.ndarray, mean: np.ndarray) -> Deviations:
        """See `GraphField`."""
        _, probability = self._probability(w)
        if len(self._s) <= LOOP_CONFIGURATIONS:
            return Deviations(self._s - mean, probability, True)
        drawn = generator(LOOP_SEED, "loops").choice(len(self._s), size=RESCORING_SAMPLES, p=probability)
        return Deviations(self._s[drawn] - mean, np.full(RESCORING_SAMPLES, 1 / RESCORING_SAMPLES), False)


class RecursionField:
    """A graph that is narrow enough for recursions; ``place`` (p,) says where its parameters are among the given."""

    def __init__(self, model: Model, place: np.ndarray) -> None:
        self._model, self._place, self._back = model, place, np.argsort(place)

    def moments(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """See `GraphField`."""
        log_z, mean = exact.moments_w(self._model, w[self._place])
        return log_z, mean[self._back]

    def covariance(self, w: np.ndarray) -> np.ndarray:
        """See `GraphField`."""
        return np.asarray(exact.covariance_w(self._model, w[self._place])[np.ix_(self._back, self._back)])

    def deviations(self, w: np.ndarray, mean: np.ndarray) -> Deviations:
        """See `GraphField`."""
        rows = exact.sample_exact(self._model, w[self._place], RESCORING_SAMPLES, child(LOOP_SEED, "loops"))
        d = row_statistics(self._model, rows)[:, self._back] - mean
        return Deviations(d, np.full(RESCORING_SAMPLES, 1 / RESCORING_SAMPLES), False)


class Rescoring:
    """Evidences of graphs on one field, with data of ``n`` observations and statistics ``counts`` (p,)."""

    def __init__(self, model: Model, counts: np.ndarray, n: float, prior: Prior) -> None:
        self.model, self._counts, self._n, self._prior = model, counts, n, prior

    @cached_property
    def _all(self) -> np.ndarray:
        return all_statistics(self.model)

    def log_evidence(self, present: np.ndarray, start: np.ndarray) -> float | None:
        """Of the graph with the ``present`` (m,) edges, up to what all graphs share; None where it is out of reach.

        The prior density of an edge counts relative to its value at zero: each one that is there lacks the log of that.
        ``start`` (p,) is where the search for the mode starts.
        """
        chart, n_edges = self.model.chart, self.model.n_edges
        is_there = np.concatenate([np.asarray(present, dtype=bool), np.ones(chart.n_blocks - n_edges, dtype=bool)])
        chosen = np.flatnonzero(is_there[chart.block_of])
        field = self._field(present, chosen)
        return (
            None if field is None else _log_evidence(field, self._counts[chosen], self._n, self._prior, chosen, start)
        )

    def _field(self, present: np.ndarray, chosen: np.ndarray) -> GraphField | None:
        """All configurations where they are few, else a recursion on the graph where it is quick, else all again."""
        size = float(2.0 ** min(np.log2(self.model.states).sum(), 1000.0)) / 1.001
        if size > LOOP_CONFIGURATIONS:
            graph = with_edges(self.model, present)
            if predicted_seconds(graph) <= PASSES_SECONDS:
                names = np.array(self.model.parameters, dtype=object)[chosen].tolist()
                index = {name: k for k, name in enumerate(names)}
                return RecursionField(graph, np.array([index[name] for name in graph.parameters], dtype=np.int64))
        return StatesField(self._all[:, chosen]) if size <= MOST_CONFIGURATIONS else None


def all_statistics(model: Model) -> np.ndarray:
    """s (N, p) of every configuration, in single precision: small whole numbers."""
    n = int(np.prod(model.states.astype(object)))
    found = np.empty((n, model.n_parameters), dtype=np.float32)
    for first in range(0, n, _AT_ONCE):
        number = np.arange(first, min(first + _AT_ONCE, n))
        rows = np.stack(np.unravel_index(number, tuple(model.states.tolist())), axis=1).astype(np.uint8)
        found[number] = row_statistics(model, rows)
    return found


def _log_evidence(
    field: GraphField, counts: np.ndarray, n: float, prior: Prior, chosen: np.ndarray, start: np.ndarray
) -> float:
    """Log evidence to one loop of the field with the ``chosen`` parameters, the others being zero."""
    w, full = start[chosen].astype(float), np.zeros(start.size)

    def at(w: np.ndarray) -> np.ndarray:
        full[chosen] = w
        return full

    def curvature(w: np.ndarray) -> np.ndarray:
        return np.asarray(prior_information(prior, at(w))[np.ix_(chosen, chosen)])

    information, last = np.zeros((0, 0)), 0.0
    for _ in range(_NEWTON_STEPS):
        gradient = counts - n * field.moments(w)[1] + prior.gradient_w(at(w))[chosen]
        step = np.linalg.solve(information, gradient) if information.size else gradient
        if np.abs(step).max() > _GOOD_STEP * last:  # not shrinking any more: the information is that of elsewhere
            information = n * field.covariance(w) + _made_positive(curvature(w))
            step = np.linalg.solve(information, gradient)
        last = float(np.abs(step).max())
        w = w + step * min(1.0, 2.0 / max(last, 1e-300))
        if last < _NEAR_MODE:
            break
    log_z, mean = field.moments(w)
    covariance = field.covariance(w)
    information = n * covariance + curvature(w)
    if np.linalg.eigvalsh(information)[0] <= 0:  # far out in the tail of a Cauchy slab
        information = n * covariance + _made_positive(curvature(w))
    spread = np.linalg.inv(information)
    # The others stay at zero, so all that the prior says of them is a constant of each: taken off.
    value = float(counts @ w - n * log_z + prior.log_density_w(at(w)) - prior.log_density_w(0.0 * full))
    value += 0.5 * chosen.size * math.log(2 * math.pi) - 0.5 * float(np.linalg.slogdet(information)[1])
    tensors = _own_tensors(prior, at(w), chosen, spread)
    return value + _loops(field.deviations(w, mean), covariance, spread, n, tensors)


def _made_positive(curvature: np.ndarray) -> np.ndarray:
    """The prior's information with no negative entry on the diagonal, for steps that go uphill."""
    raised = curvature.copy()
    np.fill_diagonal(raised, np.maximum(np.diag(curvature), _LEAST_CURVATURE))
    return raised


def _own_tensors(prior: Prior, w: np.ndarray, chosen: np.ndarray, spread: np.ndarray) -> PriorTensors:
    """The prior's third and fourth derivatives among the chosen parameters; the others belong to other blocks."""
    whole = np.eye(w.size) * np.diag(spread).max()
    whole[np.ix_(chosen, chosen)] = spread
    found = prior_tensors(prior, w, whole)
    place = np.full(w.size, -1)
    place[chosen] = np.arange(chosen.size)
    index = place[found.index]
    kept = (index >= 0).all(axis=0)
    return PriorTensors(index[:, kept], found.value[kept], found.fourth[np.ix_(chosen, chosen)])


def _loops(
    deviations: Deviations, covariance: np.ndarray, spread: np.ndarray, n: float, tensors: PriorTensors
) -> float:
    """The three one-loop terms."""
    d, weight, is_all = deviations
    projected = d @ spread
    q = np.einsum("ij,ij->i", d, projected)
    product = spread @ covariance
    mean = float(np.trace(product))
    quartic = -n * (float(weight @ q**2) - mean**2 - 2 * float(np.einsum("ij,ji->", product, product)))
    quartic += float(np.einsum("ab,ab->", tensors.fourth, spread))
    b, e, f = tensors.index
    vector = -n * ((weight * q) @ d) + np.bincount(b, tensors.value * spread[e, f], minlength=len(spread))
    mixed = -2 * n * float(tensors.value @ (weight @ (projected[:, b] * projected[:, e] * projected[:, f])))
    own = float(tensors.value @ (spread[np.ix_(b, b)] * spread[np.ix_(e, e)] * spread[np.ix_(f, f)]) @ tensors.value)
    pairs = n * n * _cubed_products(d, projected, weight, is_all) + mixed + own
    return quartic / 8 + pairs / 12 + float(vector @ spread @ vector) / 8


def _cubed_products(d: np.ndarray, projected: np.ndarray, weight: np.ndarray, is_all: bool) -> float:
    """E[(D'SD')^3] over independent pairs: of all configurations, or of different samples."""
    if not is_all:
        d, projected = d[:PAIRED_SAMPLES], projected[:PAIRED_SAMPLES]
        weight = np.full(len(d), 1 / len(d))
    total = 0.0
    for first in range(0, len(d), _PAIRS_AT_ONCE):
        part = slice(first, first + _PAIRS_AT_ONCE)
        total += float(weight[part] @ (projected[part] @ d.T) ** 3 @ weight)
    if is_all:
        return total
    with_itself = float(weight**2 @ np.einsum("ij,ij->i", d, projected) ** 3)
    return (total - with_itself) * len(d) / (len(d) - 1)
