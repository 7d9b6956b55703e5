"""The MLE-induced joint likelihood as numbers: coins from statistics and estimate, joined by a Gaussian copula.

This is what `mrfbayes.methods.mle.mle` runs on and what `mrfbayes.likelihood` shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfbayes.base.random_streams import child, generator, kernel_state
from mrfbayes.coins.coin import CoinMarginal, coin_rows
from mrfbayes.coins.correlation import Correlation
from mrfbayes.coins.die import DieMarginal, check_form
from mrfbayes.coins.external_effects import ExternalEffects, external_effects
from mrfbayes.coins.importance_weights import TRUSTED_K, effective_size, pareto_k, resample
from mrfbayes.data.statistics import Statistics
from mrfbayes.model.field import Model, factors_per_block
from mrfbayes.priors import Prior

DRAWS_AT_A_TIME = 2**22  # numbers; between blocks Ctrl-C is heard
CANDIDATES = 4  # direct draws weighed for each one that is kept under another prior
INDUCED_PILOT_DRAWS = 4_000


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
            "independent coins, which makes the spread of their parameters wrong where the factors depend on each other"
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
    def on_coins(self) -> np.ndarray:
        """Indices of the parameters whose block is a coin."""
        chart = self.model.chart
        return np.flatnonzero(chart.sides[chart.block_of] == 2)

    @cached_property
    def coins(self) -> np.ndarray:
        """(parameters on coins, COIN_FIELDS) coins as `mrfbayes.kernels.coins.coin` takes them."""
        alpha = self.statistics.counts[self.on_coins]
        other = np.maximum(self.tosses[self.on_coins] - alpha, 0.0)
        return coin_rows(alpha, other, self.effects.log_odds_eta[self.on_coins], self.form)

    @cached_property
    def dice(self) -> dict[int, DieMarginal]:
        """The dice with more than two outcomes, by block."""
        chart = self.model.chart
        return {int(b): self._die(int(b)) for b in np.flatnonzero(chart.sides > 2)}

    def _die(self, block: int) -> DieMarginal:
        first, stop = self.model.chart.offset[block : block + 2]
        start = self.statistics.outcome_offset[block]
        counts = self.statistics.outcome_counts[start : start + stop - first + 1]
        return DieMarginal(counts, np.append(self.effects.log_odds_eta[first:stop], 0.0), self.form)

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

        return float(sum(log_total(coin) for coin in self.coins)) + sum(d.log_total for d in self.dice.values())

    @cached_property
    def draw_tables(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Cells, rows and largest error of the coins' tables behind `draw`."""
        from mrfbayes.kernels.coins.scores import DRAWS, all_tables

        cells, rows, error = all_tables(self.coins, DRAWS)
        return cells, rows, float(error)

    def draw(self, size: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(size, p) independent draws of theta from the likelihood, standardised under the uniform prior."""
        from mrfbayes.kernels.coins.scores import draw_exchangeable

        state, source = kernel_state(seed, "copula"), generator(seed, "dice")
        out = np.empty((size, self.model.n_parameters))
        step = max(1, DRAWS_AT_A_TIME // max(self.model.n_parameters, 1))
        for start in range(0, size, step):
            part = out[start : start + step]
            if self.dice or self.correlation.factor is not None:
                self._draw_blocks(state, source, part)
            else:
                draw_exchangeable(self.coins, *self.draw_tables[:2], self.correlation.rho, state, part)
        return out

    def _draw_blocks(self, state: np.ndarray, source: np.random.Generator, out: np.ndarray) -> None:
        """Any copula, coins and dice mixed: normal scores first, then each marginal's own inverse."""
        from mrfbayes.kernels.coins.scores import fill_correlated, fill_exchangeable, thetas_of_normals

        if self.correlation.factor is not None:
            fill_correlated(self.correlation.factor, state, out)
        else:
            fill_exchangeable(self.correlation.rho, state, out)
        if self.on_coins.size:
            values = np.ascontiguousarray(out[:, self.on_coins])
            thetas_of_normals(self.coins, *self.draw_tables[:2], values)
            out[:, self.on_coins] = values
        for block, die in self.dice.items():
            first, stop = self.model.chart.offset[block : block + 2]
            if self.correlation.is_independent:  # Gamma variables are much faster than inverting sticks
                out[:, first:stop] = die.from_gammas(source, len(out))[:, :-1]
            else:
                out[:, first:stop] = die.from_normal(out[:, first:stop])[:, :-1]


@dataclass(frozen=True, eq=False)
class WeightedDraws:
    """Draws under a prior that is not uniform: direct ones, weighed by the prior's density and drawn again."""

    induced: Induced
    prior: Prior
    pareto_k: float
    efficiency: float

    @classmethod
    def pilot(cls, induced: Induced, prior: Prior, seed: np.random.SeedSequence) -> WeightedDraws:
        """Weigh a first set of draws, to see whether the weights can be trusted."""
        logs = cls._weigh(prior, induced.draw(INDUCED_PILOT_DRAWS, seed))
        return cls(induced, prior, pareto_k(logs), effective_size(logs) / INDUCED_PILOT_DRAWS)

    @staticmethod
    def _weigh(prior: Prior, draws: np.ndarray) -> np.ndarray:
        from mrfbayes.kernels.methods.evaluate import log_priors

        out = np.empty(len(draws))
        log_priors(prior.view, draws, out)
        return out

    @property
    def is_trusted(self) -> bool:
        """Whether importance weights will do."""
        return self.pareto_k <= TRUSTED_K

    @property
    def details(self) -> dict[str, object]:
        """Facts for the result."""
        return {"pareto_k": round(self.pareto_k, 3), "importance_efficiency": round(self.efficiency, 4)}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the reader of a result has to know."""
        if self.is_trusted:
            return ()
        return (
            f"the prior {self.prior} moves MLE-L's posterior too far for importance weights on direct draws "
            f"(Pareto k = {self.pareto_k:.2f} > {TRUSTED_K}): a Markov chain is used instead",
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
