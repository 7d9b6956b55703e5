r"""MLE-induced likelihood (Liu & Zheng, Eqs. 3-9).

.. math:: \log L(\theta) = \sum_j \bigl[\alpha_j \log\lambda_j + (n_j - \alpha_j) \log(1 - \lambda_j)\bigr]
          + \log c_R(u(\theta)), \qquad \mathrm{logit}\,\lambda_j = \mathrm{logit}\,\eta_j + \mathrm{logit}\,\theta_j,

with :math:`u_j = \Phi^{-1}(F_j(\theta_j))`, the normal score of theta_j in its own marginal, and c_R the Gaussian
copula of Eq. (8): independent (rho = 0), exchangeable, or with any correlation matrix.

Differs from the paper: the binomial constant of Eq. (3) is dropped; it cancels in Eq. (10). ``marginal="gbd"`` has the
power n + 2 of the paper's closing remark. A block tied over m factors counts n m tosses, as if they were independent.
Without a finite MLE, Eq. (5) takes expected frequencies at the penalised estimate (`coins.external_effects`). Under the
uniform prior the posterior is drawn directly, without a chain; under others by importance weights where they are good.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mrfbayes.base.random_streams import child
from mrfbayes.base.types import View, Workspace
from mrfbayes.coins.induced import Induced, WeightedDraws
from mrfbayes.exact.quantities import fisher_information
from mrfbayes.kernels.base.contracts import implements, log_likelihood
from mrfbayes.kernels.base.fastmath import logit
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.coins.scores import COIN_CELLS, FIRST_CELL, LOW, PER_UNIT, SCORES, all_tables
from mrfbayes.kernels.methods.mle import (
    CopulaCoins,
    ScoreTables,
    coin_terms,
    coin_terms_and_log_odds,
    copula_log_density,
    extra_terms,
    fill_scores,
    integrate_scores,
)
from mrfbayes.methods.laplace.laplace import is_exact_cheap
from mrfbayes.methods.mle.dice import DiceCopulaView, DiceView, make_dice
from mrfbayes.methods.problem import Prepared, Problem, writable
from mrfbayes.model.field import Model, factors_per_block
from mrfbayes.priors import Prior


class CoinView(NamedTuple):
    """Independent coins: Eq. (7)."""

    coins: CopulaCoins


class GaussianCopulaView(NamedTuple):
    """Coins joined by a Gaussian copula: Eqs. (8) and (9); exchangeable where ``precision`` is empty."""

    coins: CopulaCoins
    tables: ScoreTables
    rho: float
    log_det: float
    precision: np.ndarray  # (p, p) R^-1 - I, or (0, 0)
    scores: Workspace  # (p,)


@implements(log_likelihood, CoinView)
@kernel
def coin_log_likelihood(view, theta):
    total = view.coins.constant + coin_terms(view.coins.numbers, theta)  # Eq. (7)
    if view.coins.extra_power != 0.0:
        total += view.coins.extra_power * extra_terms(view.coins.numbers, theta)
    return total


@implements(log_likelihood, GaussianCopulaView)
@kernel
def copula_log_likelihood(view, theta):
    coins, tables = view.coins, view.tables
    total = coins.constant + coin_terms_and_log_odds(coins.numbers, theta, view.scores)
    if coins.extra_power != 0.0:
        total += coins.extra_power * extra_terms(coins.numbers, theta)
    if fill_scores(tables.places, tables.cells, view.scores) > 0:
        log_odds = np.empty(theta.size)
        for j in range(theta.size):
            log_odds[j] = logit(theta[j])
        integrate_scores(tables.coins, tables.places, log_odds, view.scores)
    return total + copula_log_density(view.rho, view.log_det, view.precision, view.scores)  # Eq. (9)


def make_view(induced: Induced) -> View:
    """The view of the marginals and of the copula that ``induced`` asks for."""
    correlation, p = induced.correlation, induced.model.n_parameters
    dice = make_dice(induced) if induced.dice else None
    if correlation.is_independent:
        return CoinView(make_coins(induced)) if dice is None else DiceView(dice)
    cells, rows, _ = all_tables(induced.coins, SCORES)
    places = np.stack([rows[:, column] for column in (LOW, PER_UNIT, FIRST_CELL, COIN_CELLS)])
    tables = ScoreTables(places, cells, induced.coins)
    rho, scores = correlation.rho, np.zeros(p)
    if correlation.matrix is None or correlation.factor is None:
        precision = np.zeros((0, 0))
        log_det = float((p - 1) * np.log1p(-rho) + np.log1p((p - 1) * rho))
    else:
        precision = writable(np.linalg.inv(correlation.matrix) - np.eye(p))
        log_det = 2.0 * float(np.log(np.diagonal(correlation.factor)).sum())
    if dice is not None:
        return DiceCopulaView(dice, tables, rho, log_det, precision, np.zeros(p), scores)
    return GaussianCopulaView(make_coins(induced), tables, rho, log_det, precision, scores)


def make_coins(induced: Induced) -> CopulaCoins:
    """Coins of every parameter."""
    alpha, eta_log_odds = induced.statistics.counts, induced.effects.log_odds_eta
    other, extra = np.maximum(induced.tosses - alpha, 0.0), 0.0 if induced.form == "printed" else 2.0
    log_eta, log_one_minus_eta = -np.logaddexp(0.0, -eta_log_odds), -np.logaddexp(0.0, eta_log_odds)
    # The marginal without its binomial coefficient; the other form carries d lambda / d theta = eta (1 - eta) / g^2
    constant = float((alpha + 0.5 * extra) @ log_eta + (other + 0.5 * extra) @ log_one_minus_eta)
    return CopulaCoins(np.stack([alpha, other, np.exp(log_eta), np.exp(log_one_minus_eta)]), constant, extra)


NOTE_DRAWS = 2_000  # by which the sds of tied coins are compared with exact ones


def check(model: Model, prior: Prior, *, rho: object, marginal: str) -> None:
    """Refuse copulas and marginals that cannot be."""
    Induced.check(model, rho, marginal)


def prepare(problem: Problem, *, rho: object = 0.0, marginal: str = "printed") -> Prepared:
    """Coins from the estimate, joined as ``rho`` says: a number, or a correlation matrix (p, p)."""
    induced = Induced.make(problem.statistics, problem.estimate, rho, marginal)
    notes = _tied_note(problem, induced)
    draw: Callable[[int, np.random.SeedSequence], np.ndarray] | None = induced.draw
    details, warnings = induced.details, induced.warnings
    if not problem.prior.is_uniform:
        weighted = WeightedDraws.pilot(induced, problem.prior, child(problem.seed, "pilot"))
        details, warnings = {**details, **weighted.details}, (*warnings, *weighted.warnings)
        draw = weighted.draw if weighted.is_trusted else None
    view = make_view(induced)
    return Prepared(view, draw=draw, induced=induced, details=details, warnings=warnings, notes=notes)


def _tied_note(problem: Problem, induced: Induced) -> tuple[str, ...]:
    """What tying does to the sds: a tied coin counts its factors as independent tosses of one observation."""
    model = problem.model
    if not (factors_per_block(model) > 1).any():
        return ()
    if not is_exact_cheap(model):
        return ("tied factors count as independent tosses: sds of tied parameters may be off by half, either way.",)
    w = np.asarray(problem.estimate.log_odds)
    exact = np.sqrt(np.diag(np.linalg.pinv(problem.statistics.n * fisher_information(model, model.chart.theta(w)))))
    draws = model.chart.log_odds(np.clip(induced.draw(NOTE_DRAWS, child(problem.seed, "note")), 1e-12, 1 - 1e-12))
    ratio = draws.std(axis=0) / exact
    shown = ", ".join(
        f"{name} {abs(r - 1):.0%} too {'large' if r > 1 else 'small'}"
        for name, r in zip(model.parameters[:3], ratio, strict=False)
    )
    return (f"tied factors count as independent tosses: against the exact information, sds are {shown}.",)
