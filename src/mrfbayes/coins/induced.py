r"""The MLE-induced joint likelihood as numbers: coins from statistics and estimate, joined by a Gaussian copula.

This is what `mrfbayes.methods.mle.mle` runs on and what `mrfbayes.likelihood` shows.

The correlation of the Gaussian copula that joins coins: exchangeable, or a full matrix, checked.

The external effect of every factor: how the rest of the graph pulls at it, Eq. (5) in log-odds.

.. math:: \mathrm{logit}\,\eta_j = \mathrm{logit}\,\hat\lambda_j - \mathrm{logit}\,\hat\theta_j

A die has one such number per free outcome, log(eta_k / eta_K). Where no finite maximum likelihood estimate exists,
the observed frequency is replaced by its expectation at the penalised estimate; at a finite estimate the two agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import child, generator, kernel_state
from mrfbayes.coins.coin import CoinMarginal, check_form, check_number, coin_rows
from mrfbayes.coins.die import DieMarginal
from mrfbayes.coins.importance_weights import TRUSTED_K, effective_size, pareto_k, resample
from mrfbayes.data.statistics import Statistics
from mrfbayes.model.field import Model, factors_per_block
from mrfbayes.model.result import PointEstimate, as_estimate
from mrfbayes.priors import Prior

NORMALS_AT_A_TIME = 2**18  # numbers: they stay in the cache
DRAWS_AT_A_TIME = 2**22  # numbers; between blocks Ctrl-C is heard
CANDIDATES = 4  # direct draws weighed for each one that is kept under another prior
INDUCED_PILOT_DRAWS = 4_000
CLOSEST = 1e-9  # an estimate nearer than this to 0 or 1 has not been found, it has run away


@dataclass(frozen=True, eq=False)
class Induced:
    """The MLE-induced likelihood of one data set."""

    statistics: Statistics
    effects: ExternalEffects
    correlation: Correlation
    form: str

    @staticmethod
    def check(model: Model, rho: object, marginal: object) -> tuple[Correlation, str]:
        """The copula and the form of the marginals that the user gives, or an `InputError`."""
        return Correlation.of(rho, model.n_parameters), check_form(marginal, "marginal")

    @classmethod
    def make(cls, statistics: Statistics, estimate: object, rho: object, marginal: object) -> Induced:
        """Checked and made from what the user gives."""
        correlation, form = cls.check(statistics.model, rho, marginal)
        return cls(statistics, external_effects(statistics, estimate), correlation, form)

    @property
    def details(self) -> dict[str, object]:
        """Facts for the result."""
        given = "matrix" if self.correlation.matrix is not None else self.correlation.rho
        return {"rho": given, "marginal": self.form, "penalised": self.effects.penalised}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the reader of a result has to know."""
        shared = factors_per_block(self.model)
        if not (shared > 1).any():
            return self.effects.warnings
        text = (
            f"{int((shared > 1).sum())} parameter blocks are shared by several factors: MLE-L tosses them as "
            "independent coins, which makes the sds of their parameters wrong where the factors depend on each other"
        )
        return (*self.effects.warnings, text)

    @property
    def model(self) -> Model:
        """The field."""
        return self.statistics.model

    @cached_property
    def tosses(self) -> np.ndarray:
        """(p,) tosses of the coin or die of each parameter."""
        chart = self.model.chart
        return np.asarray(self.statistics.n * chart.tosses[chart.block_of], dtype=float)

    @cached_property
    def coins(self) -> np.ndarray:
        """(p, COIN_FIELDS) coins as `mrfbayes.kernels.coins.coin` takes them; in the place of a die its sticks."""
        # Centred sums of tables, which may be negative, stand where a die's sticks follow.
        alpha, offset = np.maximum(self.statistics.counts, 0.0), self.model.chart.offset
        rows = coin_rows(alpha, np.maximum(self.tosses - alpha, 0.0), self.effects.log_odds_eta, self.form)
        for block, die in self.dice.items():
            rows[offset[block] : offset[block + 1]] = die.sticks
        return rows

    @cached_property
    def dice(self) -> dict[int, DieMarginal]:
        """The dice with more than two outcomes, by block."""
        chart = self.model.chart
        return {int(b): self._die(int(b)) for b in np.flatnonzero(chart.sides > 2)}

    def _die(self, block: int) -> DieMarginal:
        first, stop = self.model.chart.offset[block : block + 2]
        start = self.statistics.outcome_offset[block]
        counts = self.statistics.outcome_counts[start : start + stop - first + 1]
        return DieMarginal(counts, np.append(self.effects.log_odds_eta[first:stop], 0.0))

    def marginal(self, j: int) -> CoinMarginal | DieMarginal:
        """Marginal of parameter ``j``, or of the die that it belongs to."""
        block = int(self.model.chart.block_of[j])
        if block in self.dice:
            return self.dice[block]
        alpha = min(float(self.statistics.counts[j]), float(self.tosses[j]))
        return CoinMarginal(alpha, float(self.tosses[j]), float(self.effects.log_odds_eta[j]), self.form)

    @cached_property
    def log_evidence(self) -> float:
        """Log integral of the likelihood over the parameter space: what standardises it under the uniform prior."""
        from mrfbayes.kernels.coins.coin import log_total

        return float(sum(log_total(coin) for coin in self.coins))  # the sticks' integrals multiply to that of a die

    @cached_property
    def draw_tables(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Cells, rows and largest error of the coins' tables behind `draw`."""
        from mrfbayes.kernels.coins.scores import DRAWS, all_tables

        cells, rows, error = all_tables(self.coins, DRAWS)
        return cells, rows, float(error)

    def draw(self, size: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(size, p) independent draws of theta from the likelihood, standardised under the uniform prior."""
        from mrfbayes.kernels.base.random import fill_normal
        from mrfbayes.kernels.coins.scores import thetas_of_normals

        state, tables = kernel_state(seed, "copula"), (self.coins, *self.draw_tables[:2])
        rho, p = self.correlation.rho, self.model.n_parameters
        own = math.sqrt(1.0 - rho)
        shared = (math.sqrt(1.0 + (p - 1.0) * rho) - own) / p  # gives the all-ones direction its eigenvalue
        out = np.empty((size, p))
        step = max(1, NORMALS_AT_A_TIME // p)
        for start in range(0, size, step):
            part = out[start : start + step]
            fill_normal(state, part.reshape(-1))
            if self.correlation.factor is not None:
                part[:] = part @ self.correlation.factor.T
            elif rho:
                part[:] = own * part + shared * part.sum(axis=1, keepdims=True)
            thetas_of_normals(*tables, part)
            for block, die in self.dice.items():
                shares = part[:, slice(*self.model.chart.offset[block : block + 2])]
                mu = np.clip(shares, 1e-300, 1.0 - 2.0**-53)
                shares[:] = die.from_sticks(np.log(mu) - np.log1p(-mu))[:, :-1]
        return out


@dataclass(frozen=True, eq=False)
class WeightedDraws:
    """Draws under a prior that is not uniform: direct ones, weighed by the prior's density and drawn again."""

    induced: Induced
    prior: Prior
    pareto_k: float
    efficiency: float
    has_light_tails: bool

    @classmethod
    def pilot(cls, induced: Induced, prior: Prior, seed: np.random.SeedSequence) -> WeightedDraws:
        """Weigh a first set of draws, to see whether the weights can be trusted."""
        draws = induced.draw(INDUCED_PILOT_DRAWS, seed)
        logs, w = cls._weigh(prior, draws), induced.model.chart.log_odds(np.clip(draws, 1e-300, 1 - 2.0**-53))
        is_light = prior.is_heavy_beyond(w.std(axis=0))
        return cls(induced, prior, pareto_k(logs), effective_size(logs) / INDUCED_PILOT_DRAWS, is_light)

    @staticmethod
    def _weigh(prior: Prior, draws: np.ndarray) -> np.ndarray:
        from mrfbayes.kernels.run.chain import log_priors

        out = np.empty(len(draws))
        log_priors(prior.view, draws, out)
        return out

    @property
    def is_trusted(self) -> bool:
        """Whether importance weights will do."""
        return self.pareto_k <= TRUSTED_K and not self.has_light_tails

    @property
    def details(self) -> dict[str, object]:
        """Facts for the result."""
        return {"pareto_k": round(self.pareto_k, 3), "importance_efficiency": round(self.efficiency, 4)}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the reader of a result has to know."""
        if self.is_trusted:
            return ()
        reason = f"Pareto k = {self.pareto_k:.2f}" + ", and its tails are heavier" * self.has_light_tails
        return (
            f"the prior {self.prior} moves MLE-L's posterior too far for importance weights on direct draws "
            f"({reason}): a Markov chain is used instead",
        )

    def draw(self, size: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(size, p) draws; some repeat, fewer the closer the prior is to uniform."""
        p = self.induced.model.n_parameters
        out = np.empty((size, p))
        step = max(1, DRAWS_AT_A_TIME // (CANDIDATES * max(p, 1)))
        for start in range(0, size, step):
            part = out[start : start + step]
            stream = child(seed, "weighted", start)
            drawn = self.induced.draw(CANDIDATES * len(part), stream)
            part[:] = drawn[resample(self._weigh(self.prior, drawn), len(part), generator(stream, "resample"))]
        return out


@dataclass(frozen=True)
class Correlation:
    """The copula: ``rho`` of the exchangeable matrix, or a full ``matrix`` with its Cholesky ``factor``."""

    rho: float
    matrix: np.ndarray | None = None
    factor: np.ndarray | None = None

    @classmethod
    def of(cls, rho: object, p: int) -> Correlation:
        """``rho`` checked: a number in (-1/(p-1), 1), or a (p, p) correlation matrix."""
        if isinstance(rho, (str, bytes)) or rho is None or isinstance(rho, Mapping):
            raise InputError(f"rho = {rho!r}: give a number, or a ({p}, {p}) correlation matrix.")
        if np.ndim(np.asarray(rho, dtype=object)) == 0:
            low = -1.0 / (p - 1) if p > 1 else -1.0
            value = check_number(rho[()] if isinstance(rho, np.ndarray) else rho, "rho")
            if not low < value < 1.0:
                raise InputError(
                    f"rho = {value:g} is outside ({low:.6g}, 1): with p = {p} parameters the exchangeable correlation "
                    "matrix is positive definite only there, that is, on (-1/(p-1), 1)."
                )
            return cls(value)
        return cls(math.nan, *_check_matrix(rho, p))

    @property
    def is_independent(self) -> bool:
        """Whether the copula is the product."""
        return self.matrix is None and self.rho == 0.0


def _check_matrix(given: object, p: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        matrix = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"rho: expected a number or a ({p}, {p}) matrix of numbers.") from None
    if matrix.shape != (p, p):
        raise InputError(f"rho has shape {matrix.shape}, expected a number or a ({p}, {p}) correlation matrix.")
    if not np.isfinite(matrix).all():
        raise InputError("rho: the correlation matrix holds a value that is not finite.")
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=1e-10):
        raise InputError("rho: the correlation matrix is not symmetric.")
    if not np.allclose(np.diagonal(matrix), 1.0, rtol=0.0, atol=1e-10):
        j = int(np.argmax(np.abs(np.diagonal(matrix) - 1.0)))
        raise InputError(f"rho[{j}, {j}] = {matrix[j, j]:g}: a correlation matrix has ones on its diagonal.")
    try:
        return matrix, np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        raise InputError(
            f"rho: the correlation matrix is not positive definite (smallest eigenvalue {smallest:.3g})."
        ) from None


@dataclass(frozen=True)
class ExternalEffects:
    """``log_odds_eta`` (p,), the estimate they belong to, and whether it had to be penalised."""

    log_odds_eta: np.ndarray
    theta: np.ndarray
    log_odds: np.ndarray
    penalised: bool
    boundary: tuple[str, ...]
    warnings: tuple[str, ...]


def external_effects(statistics: Statistics, estimate: object) -> ExternalEffects:
    """Eq. (5) for every free parameter.

    Parameters
    ----------
    estimate : a `mrfbayes.estimation.result.Estimate`, any object with ``theta``, or theta (p,) itself
    """
    model = statistics.model
    chart = model.chart
    found = as_estimate(model, estimate)
    theta, log_odds, boundary = found.theta, found.log_odds, found.boundary
    empty = np.flatnonzero(statistics.lacks_outcome)
    tosses, is_counted = statistics.n * chart.tosses[chart.block_of], chart.is_counted[chart.block_of]
    outcomes = statistics.outcome_counts[np.arange(chart.n_parameters) + chart.block_of]
    if not found.penalised and not boundary and not empty.size:
        runaway = np.flatnonzero(np.minimum(theta, 1.0 - theta) < CLOSEST)
        if runaway.size:
            j = int(runaway[0])
            raise InputError(
                f"estimate: theta[{j}] = {theta[j]:g} ({model.parameters[j]}) sits on the boundary although both of "
                "its outcomes occur: it has not converged; estimate again, or pass a penalised estimate."
            )
        frequency = np.where(is_counted, statistics.counts, outcomes) / tosses  # Eq. (6)
        log_odds_eta = chart.log_odds(frequency) - log_odds  # Eq. (5): Eq. (4) in log-odds, solved for eta
        return ExternalEffects(log_odds_eta, theta, log_odds, False, boundary, ())
    names = boundary or tuple(model.blocks[b] for b in empty.tolist())
    shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
    text = (
        f"no finite maximum likelihood estimate at {shown}: MLE-L uses the penalised estimate, and expected instead of "
        "observed frequencies in Eq. (5)"
        if names
        else "the estimate is penalised: MLE-L uses expected instead of observed frequencies in Eq. (5)"
    )
    expected = _expected(statistics, found) / chart.tosses[chart.block_of]
    frequency = np.where(is_counted, expected, (outcomes + 1) / (tosses + chart.sides[chart.block_of]))
    return ExternalEffects(chart.log_odds(frequency) - log_odds, theta, log_odds, True, names, (text,))


def _expected(statistics: Statistics, estimate: PointEstimate) -> np.ndarray:
    """E[s] per observation at the estimate: exactly where feasible, else by the equation that a mode solves."""
    from mrfbayes.exact.quantities import moments_w

    try:
        return np.asarray(moments_w(statistics.model, estimate.log_odds)[1])
    except CostError:
        if estimate.prior is None:
            raise InputError(
                "estimate: some outcome never occurs, and what is expected at the theta given is out of reach here: "
                "give what mrfbayes.estimate returns, whose prior is known."
            ) from None
        # At the mode in log-odds: s - n E[s] + the gradient of the log prior = 0.
        return np.asarray((statistics.counts + estimate.prior.gradient_w(estimate.log_odds)) / statistics.n)
