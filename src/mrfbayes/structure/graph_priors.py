"""Priors over graphs: which edges are there before any data are seen."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.model.field import Model

PER_EDGE = "probabilities per edge"
_CHOICES = "'bernoulli(0.5)', 'beta-bernoulli(1, 1)', or one probability per edge (a sequence, or a mapping by name)"


@dataclass(frozen=True)
class GraphPrior:
    """Edges are there independently, or exchangeably with a beta-distributed density.

    Attributes
    ----------
    probability : (m,) prior probability of each edge
    counts : (a, b) of a beta-bernoulli prior, (0, 0) otherwise
    text : as the user wrote it
    """

    probability: np.ndarray
    counts: tuple[float, float]
    text: str

    @property
    def log_odds(self) -> np.ndarray:
        """(m,) marginal prior log-odds; infinite where an edge is there for certain."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probability) - np.log1p(-self.probability))

    def log_probability(self, present: np.ndarray) -> np.ndarray:
        """Log prior probability of graphs (..., m)."""
        from scipy.special import betaln

        present = np.asarray(present, dtype=bool)
        if self.counts[0] > 0:
            a, b = self.counts
            size = present.sum(axis=-1)
            return np.asarray(betaln(a + size, b + present.shape[-1] - size) - betaln(a, b))
        with np.errstate(divide="ignore"):
            logs = np.where(present, np.log(self.probability), np.log1p(-self.probability))
        return np.asarray(logs.sum(axis=-1))

    def size_probability(self) -> np.ndarray:
        """(m + 1,) prior probabilities of the numbers of edges."""
        from scipy.special import betaln, gammaln

        m = self.probability.size
        if self.counts[0] > 0:
            a, b = self.counts
            k = np.arange(m + 1)
            choices = gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1)
            return np.asarray(np.exp(choices + betaln(a + k, b + m - k) - betaln(a, b)))
        found = np.ones(1)
        for probability in self.probability:
            found = np.convolve(found, [1.0 - probability, probability])
        return found

    def __str__(self) -> str:
        return self.text


def graph_prior(model: Model, given: object, argument: str = "edges") -> GraphPrior:
    """The prior that ``edges=`` (or another argument) asks for."""
    m = model.n_edges
    if isinstance(given, str):
        name, _, rest = given.strip().partition("(")
        try:
            values = ast.literal_eval(f"({rest[:-1]},)") if rest.endswith(")") and rest[:-1].strip() else None
            numbers = None if values is None else [float(value) for value in values]
        except (TypeError, ValueError, SyntaxError):
            numbers = None
        name = name.strip().lower()
        if numbers is None or (name, len(numbers)) not in (("bernoulli", 1), ("beta-bernoulli", 2)):
            raise InputError(f"{argument} = {given!r}: give {_CHOICES}.")
        if name == "bernoulli":
            return GraphPrior(_probabilities(model, [numbers[0]] * m, argument), (0.0, 0.0), given)
        a, b = numbers
        if not (a > 0 and b > 0 and math.isfinite(a) and math.isfinite(b)):
            raise InputError(f"{argument} = {given!r}: both numbers of a beta distribution are positive.")
        return GraphPrior(np.full(m, a / (a + b)), (a, b), given)
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in model.blocks[:m]]
        lacking = [name for name in model.blocks[:m] if name not in given]
        if unknown or lacking:
            which = f"no edge is called {unknown[0]!r}" if unknown else f"edge {lacking[0]!r} has no probability"
            raise InputError(f"{argument}: {which}; name every edge as in model.parameters.")
        given = [given[name] for name in model.blocks[:m]]
    try:
        values = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{argument} = {given!r}: give {_CHOICES}.") from None
    if values.shape != (m,):
        raise InputError(f"{argument} has shape {values.shape}, the model has {m} edges: give {_CHOICES}.")
    return GraphPrior(_probabilities(model, values, argument), (0.0, 0.0), PER_EDGE)


def _probabilities(model: Model, values: object, argument: str) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    bad = np.flatnonzero(~((array > 0) & (array <= 1)))
    if bad.size:
        e = int(bad[0])
        raise InputError(
            f"{argument}: {array[e]:g} for {model.blocks[e]!r} is not a prior probability in (0, 1]; leave an edge out "
            "of the model to rule it out, give 1 to have it in for certain."
        )
    return array
