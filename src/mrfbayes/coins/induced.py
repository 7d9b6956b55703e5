"""The MLE-induced joint likelihood as numbers: coins from statistics and estimate, joined by a Gaussian copula.

This is what `mrfbayes.methods.mle.mle` runs on and what `mrfbayes.likelihood` shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfbayes.base.random_streams import child, generator, kernel_state
from mrfbayes.coins.coin import CoinMarginal, check_form, coin_rows
from mrfbayes.coins.correlation import Correlation
from mrfbayes.coins.die import DieMarginal
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
    def coins(self) -> np.ndarray:
        """(p, COIN_FIELDS) coins as `mrfbayes.kernels.coins.coin` takes them; in the place of a die its sticks."""
        alpha, offset = self.statistics.counts, self.model.chart.offset
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
        from mrfbayes.kernels.coins.scores import draw_exchangeable, fill_correlated, thetas_of_normals

        state, tables = kernel_state(seed, "copula"), (self.coins, *self.draw_tables[:2])
        out = np.empty((size, self.model.n_parameters))
        step = max(1, DRAWS_AT_A_TIME // max(self.model.n_parameters, 1))
        for start in range(0, size, step):
            part = out[start : start + step]
            if self.correlation.factor is None:
                draw_exchangeable(*tables, self.correlation.rho, state, part)
            else:
                fill_correlated(self.correlation.factor, state, part)
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

    @classmethod
    def pilot(cls, induced: Induced, prior: Prior, seed: np.random.SeedSequence) -> WeightedDraws:
        """Weigh a first set of draws, to see whether the weights can be trusted."""
        logs = cls._weigh(prior, induced.draw(INDUCED_PILOT_DRAWS, seed))
        return cls(induced, prior, pareto_k(logs), effective_size(logs) / INDUCED_PILOT_DRAWS)

    @staticmethod
    def _weigh(prior: Prior, draws: np.ndarray) -> np.ndarray:
        from mrfbayes.kernels.run.target import log_priors

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
