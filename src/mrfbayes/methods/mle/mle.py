r"""MLE-induced likelihood (Liu & Zheng, Eqs. 3-9).

.. math:: \log L(\theta) = \sum_j \bigl[\alpha_j \log\lambda_j + (n_j - \alpha_j) \log(1 - \lambda_j)\bigr]
          + \log c_R(u(\theta)), \qquad \mathrm{logit}\,\lambda_j = \mathrm{logit}\,\eta_j + \mathrm{logit}\,\theta_j,

with :math:`u_j = \Phi^{-1}(F_j(\theta_j))`, the normal score of theta_j in its own marginal, and c_R the Gaussian
copula of Eq. (8): independent (rho = 0), exchangeable, or with any correlation matrix.

Differs from the paper: the binomial constant of Eq. (3) is dropped; it cancels in Eq. (10). ``marginal="gbd"`` has the
power n + 2 of the paper's closing remark. A block tied over m factors counts n m tosses, as if they were independent.
Without a finite MLE, Eq. (5) takes expected frequencies at the penalised estimate (`coins.external_effects`). Under the
uniform prior the posterior is drawn directly, without a chain; under others by importance weights where they are good.

MLE-induced likelihood of fields with dice: `mrfbayes.methods.mle.mle` for blocks with any number of outcomes.

.. math:: \log L(\theta) = \sum_b \sum_k \alpha_{bk} \log\lambda_{bk} + \log c_R(u(\theta)),
          \qquad \lambda_{bk} \propto \eta_{bk}\theta_{bk}

Differs from the paper: it leaves more than two outcomes to the reader. A die with more than two has the factor
|d lambda / d theta|, so that lambda is Dirichlet under the uniform prior, whatever the form of the coins. It enters the
copula by its sticks (`mrfbayes.coins.die`), which follow the order of its outcomes: with a copula that is not
independent, the likelihood depends on the order of labels and, on tables, on which end of an edge is first.

The Gaussian copula (Eq. 8) of coins whose normal scores are tabulated.

For the exchangeable matrix R = (1 - rho) I + rho 1 1' neither a factor nor a matrix is needed:

.. math:: \log\det R = (p-1)\log(1-\rho) + \log(1+(p-1)\rho), \qquad
          u^T(R^{-1}-I)u = \frac{\rho}{1-\rho}\Bigl[\sum u^2 - \frac{(\sum u)^2}{1+(p-1)\rho}\Bigr].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mrfbayes.base.random_streams import child
from mrfbayes.base.types import View, Workspace
from mrfbayes.coins.induced import Induced, WeightedDraws
from mrfbayes.exact.quantities import fisher_information
from mrfbayes.kernels.base import fastmath
from mrfbayes.kernels.base.contracts import implements, log_likelihood
from mrfbayes.kernels.base.fastmath import logit
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.coins.coin import normal_score
from mrfbayes.kernels.coins.scores import COIN_CELLS, FIRST_CELL, LOW, PER_UNIT, SCORES, all_tables
from mrfbayes.methods.laplace.laplace import is_exact_cheap
from mrfbayes.methods.problem import Prepared, Problem, writable
from mrfbayes.model.field import Model, factors_per_block
from mrfbayes.priors import Prior

AGREEMENTS, DISAGREEMENTS, ETA, ONE_MINUS_ETA = range(4)  # rows of CopulaCoins.numbers
PLACE_LOW, PLACE_PER_UNIT, PLACE_FIRST, PLACE_COUNT = range(4)  # rows of ScoreTables.places


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


class Dice(NamedTuple):
    """Blocks of any number of outcomes; flat arrays hold all K of them."""

    offset: np.ndarray  # (B+1,) into theta; block b begins at offset[b] + b in the flat arrays
    counts: np.ndarray  # (p+B,) alpha
    log_eta: np.ndarray  # (p+B,)
    extra_power: float  # of coins: 0 in the printed form, 1 where lambda is Beta
    log_theta: Workspace  # (p+B,)


class DiceView(NamedTuple):
    """Independent blocks."""

    dice: Dice


class DiceCopulaView(NamedTuple):
    """Blocks joined by a Gaussian copula, exchangeable where ``precision`` is empty."""

    dice: Dice
    tables: ScoreTables  # of coins and sticks
    rho: float
    log_det: float
    precision: np.ndarray  # (p, p) R^-1 - I, or (0, 0)
    log_odds: Workspace  # (p,)
    scores: Workspace  # (p,)


@kernel
def dice_terms(dice, theta):
    """Sum over blocks of sum alpha log lambda; fills log theta of all outcomes."""
    total = 0.0
    for block in range(dice.offset.size - 1):
        first, stop = dice.offset[block], dice.offset[block + 1]
        last, field, linear, effects = 1.0, 0.0, 0.0, 0.0
        n = 0.0
        for j in range(first, stop + 1):
            k = j + block
            weight = theta[j] if j < stop else last
            last -= weight
            dice.log_theta[k] = math.log(weight)
            field += math.exp(dice.log_eta[k]) * weight
            linear += dice.counts[k] * (dice.log_theta[k] + dice.log_eta[k])
            effects += dice.log_eta[k]
            n += dice.counts[k]
        total += linear - n * math.log(field)
        if dice.extra_power != 0.0 or stop - first > 1:
            total += effects - (stop - first + 1) * math.log(field)
    return total


@implements(log_likelihood, DiceView)
@kernel
def dice_log_likelihood(view, theta):
    return dice_terms(view.dice, theta)


@kernel
def fill_log_odds(dice, out):
    """Log-odds (p,) of coins, and of the sticks of dice, from the log theta that `dice_terms` left."""
    for block in range(dice.offset.size - 1):
        first, stop = dice.offset[block], dice.offset[block + 1]
        if stop - first == 1:
            out[first] = dice.log_theta[first + block] - dice.log_theta[first + block + 1]
            continue
        rest = dice.log_theta[stop + block] + dice.log_eta[stop + block]
        for j in range(stop - 1, first - 1, -1):
            own = dice.log_theta[j + block] + dice.log_eta[j + block]
            out[j] = own - rest
            rest = max(own, rest) + math.log1p(math.exp(-abs(own - rest)))


@implements(log_likelihood, DiceCopulaView)
@kernel
def dice_copula_log_likelihood(view, theta):
    total = dice_terms(view.dice, theta)
    fill_log_odds(view.dice, view.log_odds)
    view.scores[:] = view.log_odds
    if fill_scores(view.tables.places, view.tables.cells, view.scores) > 0:
        integrate_scores(view.tables.coins, view.tables.places, view.log_odds, view.scores)
    return total + copula_log_density(view.rho, view.log_det, view.precision, view.scores)


def make_dice(induced: Induced) -> Dice:
    """The blocks of ``induced``."""
    chart, statistics = induced.model.chart, induced.statistics
    log_eta = np.zeros(statistics.outcome_counts.size)
    log_eta[np.arange(chart.n_parameters) + chart.block_of] = induced.effects.log_odds_eta
    starts = statistics.outcome_offset
    log_eta -= np.repeat(np.logaddexp.reduceat(log_eta, starts[:-1]), np.diff(starts))
    extra = 0.0 if induced.form == "printed" else 1.0
    offset = writable(chart.offset, np.int64)
    return Dice(offset, writable(statistics.outcome_counts), log_eta, extra, np.zeros(log_eta.size))


class CopulaCoins(NamedTuple):
    """Independent coins, Eq. (3): what the product of marginals needs.

    Arrays that belong together are the rows of one: each array of a view costs two atomic updates per step.
    """

    numbers: np.ndarray  # (4, p) alpha_j, n_j - alpha_j, eta_j, 1 - eta_j
    constant: float  # what does not depend on theta
    extra_power: float  # 0: printed, power n; 2: the generalised beta form, power n + 2


class ScoreTables(NamedTuple):
    """Phi^-1(F_j) as a function of the log-odds, from `mrfbayes.kernels.coins.scores`."""

    places: np.ndarray  # (4, p) where the table begins, cells per unit of log-odds, first cell, number of cells
    cells: np.ndarray  # (cells, 4)
    coins: np.ndarray  # (p, COIN_FIELDS), for what lies outside the tables


@kernel(fastmath={"reassoc"})
def coin_terms(numbers, theta):
    """Sum over coins of alpha log(theta / g) + (n - alpha) log((1 - theta) / g), g = eta theta + (1-eta)(1-theta)."""
    total = 0.0
    for j in range(theta.size):
        other = 1.0 - theta[j]
        # a division is cheaper than a third logarithm
        share = 1.0 / (numbers[ETA, j] * theta[j] + numbers[ONE_MINUS_ETA, j] * other)
        total += numbers[AGREEMENTS, j] * fastmath.log(share * theta[j])  # Eq. (3): lambda of Eq. (1) in Eq. (2)
        total += numbers[DISAGREEMENTS, j] * fastmath.log(share * other)
    return total


@kernel(fastmath={"reassoc"})
def coin_terms_and_log_odds(numbers, theta, log_odds):
    """What `coin_terms` sums; fills ``log_odds`` with logit theta from the same logarithms."""
    total = 0.0
    for j in range(theta.size):
        other = 1.0 - theta[j]
        share = 1.0 / (numbers[ETA, j] * theta[j] + numbers[ONE_MINUS_ETA, j] * other)
        log_theta, log_other = fastmath.log(share * theta[j]), fastmath.log(share * other)
        total += numbers[AGREEMENTS, j] * log_theta + numbers[DISAGREEMENTS, j] * log_other
        log_odds[j] = log_theta - log_other
    return total


@kernel(fastmath={"reassoc"})
def extra_terms(numbers, theta):
    """Sum of -log g, for the denominator's extra power in the generalised beta form."""
    total = 0.0
    for j in range(theta.size):
        total -= fastmath.log(numbers[ETA, j] * theta[j] + numbers[ONE_MINUS_ETA, j] * (1.0 - theta[j]))
    return total


@kernel
def fill_scores(places, cells, values):
    """Replace log-odds (p,) by normal scores u_j = Phi^-1(F_j); returns the number left out, outside their tables."""
    outside = 0
    for j in range(values.size):
        x = (values[j] - places[PLACE_LOW, j]) * places[PLACE_PER_UNIT, j]
        if x >= 0.0 and x < places[PLACE_COUNT, j]:
            whole = np.int64(x)
            x -= np.float64(whole)
            k = whole + np.int64(places[PLACE_FIRST, j])
            values[j] = cells[k, 0] + x * (cells[k, 1] + x * (cells[k, 2] + x * cells[k, 3]))
        else:
            outside += 1
    return outside


@kernel
def integrate_scores(coins, places, log_odds, scores):
    """The scores that `fill_scores` left out, by integration."""
    for j in range(log_odds.size):
        w = log_odds[j]
        x = (w - places[PLACE_LOW, j]) * places[PLACE_PER_UNIT, j]
        # A hair's breadth around the ends as well: the logit here may round differently.
        if not (x >= 1e-6 and x < places[PLACE_COUNT, j] - 1e-6):
            scores[j] = normal_score(coins[j], w)


@kernel(fastmath={"reassoc"})
def exchangeable_log_density(rho, log_det, scores):
    """Log density of the exchangeable copula at the normal scores (p,)."""
    total, square = 0.0, 0.0
    for j in range(scores.size):
        total += scores[j]
        square += scores[j] * scores[j]
    top = 1.0 + (scores.size - 1.0) * rho
    return -0.5 * log_det - 0.5 * rho / (1.0 - rho) * (square - total * total / top)  # Eq. (8)


@kernel(fastmath={"reassoc"})
def matrix_log_density(precision, log_det, scores):
    """Log density of the copula of any R; ``precision`` is R^-1 - I, of which the lower half is read."""
    quadratic = 0.0
    for i in range(scores.size):
        row = 0.0
        for j in range(i):
            row += precision[i, j] * scores[j]
        quadratic += scores[i] * (2.0 * row + precision[i, i] * scores[i])
    return -0.5 * log_det - 0.5 * quadratic


@kernel
def copula_log_density(rho, log_det, precision, scores):
    """Log density of the copula: of any R by its ``precision``, exchangeable where that is empty."""
    if precision.size > 0:
        return matrix_log_density(precision, log_det, scores)
    return exchangeable_log_density(rho, log_det, scores)
