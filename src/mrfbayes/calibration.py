r"""`calibrated`: the three numbers of every coin, from the derivatives of the log posterior at its mode.

With L the log posterior in log-odds w, mode :math:`\hat w`, S the inverse of minus its Hessian and D = s - E[s],

.. math::
    \kappa_j = L_{abc} S_{aj} S_{bj} S_{cj}, \qquad
    \delta_j = \tfrac12 S_{jc} L_{abc} S_{ab}, \qquad
    V = S + S\,[\tfrac12 L_{abcd} S_{cd} + \tfrac12 L_{acd} L_{bef} S_{ce} S_{df} + L_{abc}\delta_c]\,S

are the third cumulant, the shift of the mean from the mode, and the covariance to one loop. L's derivatives are -n
times the field's cumulants plus those of the prior. kappa and delta come from directional derivatives of the expected
statistics, exactly; the loop terms, which are small, from exact samples (or, on small fields, from all
configurations): with P = S D and Q = D'SD

.. math::
    S_{aj} S_{bk} \kappa_{abcd} S_{cd} = E[P_j P_k (Q - E Q)] - 2 (SCSCS)_{jk}, \qquad
    S_{aj} S_{bk} \kappa_{acd} \kappa_{bef} S_{ce} S_{df} = E[P_j P'_k (D' S D')^2]

with C the covariance of s and the second expectation over pairs of independent samples, which has no bias to remove.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mrfbayes.priors import Prior
from mrfbayes.streams import child

_NEWTON_STEPS = 100
_TOLERANCE = 1e-9  # posterior sds
_HALVINGS = 40
_DIFFERENCE = 1e-4  # log-odds, for derivatives of the Hessian of a die's prior
LOOP_NOISE = 1e-3  # of a variance, the largest: sampling stops there
LOOP_SAMPLES = 262_144  # or after so many samples
POLARISED_CELLS = 1e9  # table cells of directional derivatives up to which the sum over pairs is done exactly
PAIR_SAMPLES = 16_384  # of them in the sum over pairs
_BATCH = 4_096


class Cumulants(Protocol):
    """The statistics of the field at one w, exactly."""

    is_indicator: np.ndarray  # (p,) whether s_j is always 0 or 1
    direction_cells: float  # table cells that one directional derivative goes through

    @property
    def mean(self) -> np.ndarray:
        """E[s] (p,)."""

    @property
    def covariance(self) -> np.ndarray:
        """Cov[s] (p, p)."""

    def contract_third(self, directions: np.ndarray) -> np.ndarray:
        """kappa[s, v.s, v.s] (k, p) for every row v of ``directions`` (k, p)."""

    def draw(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """Statistics (n, p) of independent samples."""

    def states(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Statistics (k, p) and probabilities (k,) of all configurations, where they are few."""


@dataclass(frozen=True)
class Mode:
    """The posterior mode in log-odds and the curvature there.

    Attributes
    ----------
    w : (p,) log-odds
    covariance : (p, p) S, the inverse of minus the Hessian
    factor : (p, p) lower Cholesky factor of S
    cumulants : the field's statistics at the mode
    steps : Newton steps taken
    """

    w: np.ndarray
    covariance: np.ndarray
    factor: np.ndarray
    cumulants: Cumulants
    steps: int


def prior_information(prior: Prior, w: np.ndarray) -> np.ndarray:
    """Minus the prior's Hessian in w, (p, p)."""
    hessian = prior.hessian_w(w)
    return np.asarray(-(np.diag(hessian) if hessian.ndim == 1 else hessian))


def find_mode(
    value_at: Callable[[np.ndarray], tuple[float, np.ndarray]],
    cumulants_at: Callable[[np.ndarray], Cumulants],
    counts: np.ndarray,
    n: float,
    prior: Prior,
    start: np.ndarray,
) -> Mode:
    """Damped Newton ascent of the log posterior in w; the mode exists under every proper prior.

    Parameters
    ----------
    value_at : w -> A(w) and E[s] (the constant part of s included in both)
    cumulants_at : w -> the field's statistics there
    counts : (p,) sufficient statistics of the data
    """

    def posterior(w: np.ndarray) -> tuple[float, np.ndarray]:
        log_z, mean = value_at(w)
        return float(counts @ w - n * log_z + prior.log_density_w(w)), counts - n * mean + prior.gradient_w(w)

    w = start
    value, gradient = posterior(w)
    for step in range(_NEWTON_STEPS):
        cumulants = cumulants_at(w)
        information = n * cumulants.covariance + prior_information(prior, w)
        factor = _factor(information)
        direction = _solve(factor, gradient)
        length = float(np.sqrt(gradient @ direction))
        if length < _TOLERANCE:
            inverse = _solve(factor, np.eye(w.size))
            inverse = (inverse + inverse.T) / 2
            return Mode(w, inverse, np.linalg.cholesky(inverse), cumulants, step)
        for halving in range(_HALVINGS):
            following = w + direction / 2.0**halving
            new_value, new_gradient = posterior(following)
            # Near the mode values are equal to rounding: there the gradient decides.
            if new_value >= value or (length < 1e-3 and abs(new_value - value) < 1e-9 * max(1.0, abs(value))):
                break
        w, value, gradient = following, new_value, new_gradient
    raise ArithmeticError(f"no mode after {_NEWTON_STEPS} Newton steps: the last was {length:.2g} posterior sds long.")


def _factor(information: np.ndarray) -> np.ndarray:
    """Lower Cholesky factor; a prior that is not log-concave may need the diagonal raised on the way."""
    raised = 0.0
    while True:
        try:
            return np.linalg.cholesky(information + raised * np.eye(len(information)))
        except np.linalg.LinAlgError:
            raised = 2 * raised or 1e-10 * float(np.abs(np.diag(information)).max())


def _solve(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    from scipy.linalg import cho_solve

    return np.asarray(cho_solve((factor, True), right))


@dataclass(frozen=True)
class PriorTensors:
    """The prior's third derivatives as entries (index triples and values), and its fourth contracted with S."""

    index: np.ndarray  # (3, m)
    value: np.ndarray  # (m,)
    fourth: np.ndarray  # (p, p) L_abcd S_cd

    def contract(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """t[., u, v] (k, p) for rows u of ``left`` and v of ``right``, both (k, p)."""
        out = np.zeros_like(left)
        first, second, third = self.index
        terms = self.value * left[:, second] * right[:, third]
        np.add.at(out.T, first, terms.T)
        return out


def prior_tensors(prior: Prior, w: np.ndarray, covariance: np.ndarray) -> PriorTensors:
    """Third and fourth derivatives of the log prior at w: diagonal for coins, within the block for dice."""
    p = w.size
    chart = prior.chart
    if chart.all_coins:
        j = np.arange(p)
        return PriorTensors(np.stack([j, j, j]), prior.third_w(w), np.diag(prior.fourth_w(w) * np.diag(covariance)))
    # Dice: central differences of the Hessian, block by block; all blocks move at once, in turn for each outcome.
    place = np.arange(p) - chart.offset[chart.block_of]
    same = chart.block_of[:, None] == chart.block_of[None, :]
    within = np.linalg.cholesky(np.where(same, covariance, 0.0))
    indices, values = [], []
    fourth = np.zeros((p, p))
    a, b = np.nonzero(same)
    for outcome in range(int(place.max()) + 1):
        moved = np.flatnonzero(place == outcome)
        step = np.where(place == outcome, _DIFFERENCE, 0.0)
        slope = (prior.hessian_w(w + step) - prior.hessian_w(w - step)) / (2 * _DIFFERENCE)
        mover = np.full(chart.n_blocks, -1)
        mover[chart.block_of[moved]] = moved
        c = mover[chart.block_of[a]]
        keep = c >= 0
        indices.append(np.stack([a[keep], b[keep], c[keep]]))
        values.append(slope[a[keep], b[keep]])
        step = 30 * _DIFFERENCE * within[:, moved].sum(axis=1) / np.sqrt(np.abs(np.diag(covariance)).max())
        bend = prior.hessian_w(w + step) + prior.hessian_w(w - step) - 2 * prior.hessian_w(w)
        fourth += bend * np.abs(np.diag(covariance)).max() / (30 * _DIFFERENCE) ** 2
    return PriorTensors(np.concatenate(indices, axis=1), np.concatenate(values), fourth)


@dataclass(frozen=True)
class ThirdOrder:
    """Third-order quantities of the log posterior at its mode.

    Attributes
    ----------
    third : (p,) kappa, the third cumulants
    shift : (p,) delta, mean minus mode
    trace_terms : (p, p) row k is the field's kappa[., c_k, c_k], c_k the columns of a factor of S
    along : (p, p) row j is the field's kappa[., P_j, P_j]
    tensors : the prior's own derivatives
    """

    third: np.ndarray
    shift: np.ndarray
    trace_terms: np.ndarray
    along: np.ndarray
    tensors: PriorTensors


def third_order(mode: Mode, n: float, prior: Prior) -> ThirdOrder:
    """Third cumulant and mean shift of every log-odds, from 2p directional derivatives."""
    spread = mode.covariance
    tensors = prior_tensors(prior, mode.w, spread)
    along = mode.cumulants.contract_third(spread)
    third = ((-n * along + tensors.contract(spread, spread)) * spread).sum(axis=1)
    columns = np.ascontiguousarray(mode.factor.T)
    trace_terms = mode.cumulants.contract_third(columns)
    shift = 0.5 * spread @ (-n * trace_terms.sum(axis=0) + tensors.contract(columns, columns).sum(axis=0))
    return ThirdOrder(third, shift, trace_terms, along, tensors)


def one_loop(
    mode: Mode,
    n: float,
    order: ThirdOrder,
    seed: np.random.SeedSequence,
    samples: int = LOOP_SAMPLES,
    pairs: int = PAIR_SAMPLES,
) -> np.ndarray:
    """The covariance (p, p) of the log-odds to one loop; its noise is that of a small correction.

    Where the statistics are 0 or 1, D_j^2 is linear in D_j, so that the largest terms of the diagonal are known and
    only the rest is sampled: a coin alone has no noise at all.
    """
    s, mean, field = mode.covariance, mode.cumulants.mean, mode.cumulants.covariance
    tensors = order.tensors
    diagonal = np.diag(s)
    scs = s @ field @ s
    skew = np.where(mode.cumulants.is_indicator, 1 - 2 * mean, 0.0)
    known = np.where(mode.cumulants.is_indicator, diagonal, 0.0)

    squared, pair_terms = _sampled_loops(mode, order, known, n, seed, samples, pairs)
    squared[np.diag_indices_from(squared)] += known**2 * skew * order.trace_terms.sum(axis=0)
    pair_terms += (s @ field * skew * known) @ (s @ field * skew * known).T

    fourth = -n * (squared - 2 * scs @ field @ s) + s @ tensors.fourth @ s
    # Third derivatives twice: field with field, field with prior (both ways), prior with prior.
    b, e, f = tensors.index
    out = tensors.value[:, None] * s[b]  # (m, p)
    mixed = -n * (s @ _mixed_cubes(mode, order).T) @ out
    own = out.T @ ((s[np.ix_(e, e)] * s[np.ix_(f, f)]) @ out)
    thirds = n * n * pair_terms + mixed + mixed.T + own
    tilted = _along_shift(mode, order)
    shifted = -n * tilted + s @ _prior_matrix(tensors, order.shift) @ s
    variance = s + 0.5 * fourth + 0.5 * thirds + shifted
    return np.asarray((variance + variance.T) / 2)


def _sampled_loops(
    mode: Mode,
    order: ThirdOrder,
    known: np.ndarray,
    n: float,
    seed: np.random.SeedSequence,
    samples: int,
    pairs: int,
) -> tuple[np.ndarray, np.ndarray]:
    """E[P_j P_k (Q - E Q)] and E[P_j P'_k (D'SD')^2] less what the squares of single statistics explain."""
    s, cumulants = mode.covariance, mode.cumulants
    expected = float(np.einsum("ab,ab->", s, cumulants.covariance))
    states = cumulants.states()
    if states is not None:  # few enough to sum over all of them: no noise
        d, probability = states[0] - cumulants.mean, states[1]
        half = d, d @ s * probability[:, None]
        return _squared(d, probability, s, expected, known), _pair_products(half, half, s, known)
    polarised = _polarised_products(mode, order.trace_terms, known)
    if polarised is not None:
        pairs = 0
    squared: list[np.ndarray] = []
    kept: list[np.ndarray] = []
    done = 0
    while done < samples:
        d = cumulants.draw(_BATCH, child(seed, done // _BATCH)) - cumulants.mean
        squared.append(_squared(d, np.full(_BATCH, 1 / _BATCH), s, expected, known))
        if done < pairs:
            kept.append(d[: pairs - done])
        done += _BATCH
        if done >= 8 * _BATCH and done >= pairs:
            diagonal = np.array([np.diag(part) for part in squared])
            noise = diagonal.std(axis=0, ddof=1) / np.sqrt(len(squared))
            if float((0.5 * n * noise / np.diag(s)).max()) < LOOP_NOISE:
                break
    if polarised is not None:
        return np.mean(squared, axis=0), polarised
    d = np.concatenate(kept)
    halves = [(part, part @ s / len(part)) for part in (d[: len(d) // 2], d[len(d) // 2 :])]
    products = _pair_products(halves[0], halves[1], s, known)
    return np.mean(squared, axis=0), (products + products.T) / 2


def _polarised_products(mode: Mode, along_factor: np.ndarray, known: np.ndarray) -> np.ndarray | None:
    """What `_pair_products` estimates, exactly, where p^2 / 2 directional derivatives are cheap.

    With c_k the columns of a factor of S: sum over k, l of kappa[P_i, c_k, c_l] kappa[P_j, c_k, c_l], and the mixed ones by
    2 kappa[c_k, c_l] = kappa[c_k + c_l] - kappa[c_k] - kappa[c_l].
    """
    s, columns = mode.covariance, mode.factor.T
    p = len(s)
    if p * p / 2 * mode.cumulants.direction_cells > POLARISED_CELLS:
        return None
    products = along_factor @ s
    products = products.T @ products
    for k in range(p - 1):
        sums = mode.cumulants.contract_third(columns[k] + columns[k + 1 :])
        mixed = (sums - along_factor[k] - along_factor[k + 1 :]) @ s
        products += (
            mixed.T @ mixed / 2
        )  # each pair stands for (k, l) and (l, k); the half is that of polarisation, squared
    field = (
        s @ mode.cumulants.covariance * np.where(mode.cumulants.is_indicator, 1 - 2 * mode.cumulants.mean, 0) * known
    )
    return np.asarray(products - field @ field.T)


def _squared(d: np.ndarray, probability: np.ndarray, s: np.ndarray, expected: float, known: np.ndarray) -> np.ndarray:
    """E[P_j P_k (Q - E Q)] over the rows of ``d``; on the diagonal without ``known``^2 E[D_j^2 (Q - E Q)]."""
    projected = d @ s
    q = probability * (np.einsum("ij,ij->i", d, projected) - expected)
    out = projected.T @ (q[:, None] * projected)
    out[np.diag_indices_from(out)] -= known**2 * (q @ (d * d))
    return np.asarray(out)


def _pair_products(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray], s: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """E[P_j P'_k ((D'SD')^2 - sum of known^2 D_i^2 D'_i^2)]; each side is D and P times the rows' probabilities."""
    products = np.zeros_like(s)
    explained = known * second[0] ** 2
    for start in range(0, len(first[0]), 1024):
        d, weighted = (part[start : start + 1024] for part in first)
        kernel = (d @ s) @ second[0].T
        kernel *= kernel
        kernel -= (known * d**2) @ explained.T
        products += weighted.T @ (kernel @ second[1])
    return products


def _mixed_cubes(mode: Mode, order: ThirdOrder) -> np.ndarray:
    """The field's kappa[., P_e, P_f] (m, p) for the entries (b, e, f) of the prior's third derivatives."""
    _, e, f = order.tensors.index
    cubes = np.array(order.along[e])
    apart = np.flatnonzero(e != f)
    if apart.size:  # polarisation: 4 k[u, v] = k[u + v, u + v] - k[u - v, u - v]
        u, v = mode.covariance[e[apart]], mode.covariance[f[apart]]
        contract = mode.cumulants.contract_third
        cubes[apart] = (contract(np.ascontiguousarray(u + v)) - contract(np.ascontiguousarray(u - v))) / 4
    return cubes


def _along_shift(mode: Mode, order: ThirdOrder) -> np.ndarray:
    """The field's kappa[P_j, P_k, delta] (p, p): the diagonal exactly, the rest by polarisation with delta."""
    s = mode.covariance
    contract = mode.cumulants.contract_third
    matrix = (contract(s + order.shift) - contract(s - order.shift)) @ s / 4
    matrix[np.diag_indices_from(matrix)] = order.along @ order.shift
    return np.asarray((matrix + matrix.T) / 2)


def _prior_matrix(tensors: PriorTensors, direction: np.ndarray) -> np.ndarray:
    """t[., ., v] (p, p)."""
    matrix = np.zeros((direction.size, direction.size))
    first, second, third = tensors.index
    np.add.at(matrix, (first, second), tensors.value * direction[third])
    return matrix


@dataclass(frozen=True)
class Coins:
    """lambda_j ~ Beta(a_j, b_j), w_j = logit lambda_j - log_odds_eta_j; ``clipped`` of them are not skewed enough."""

    a: np.ndarray
    b: np.ndarray
    log_odds_eta: np.ndarray
    clipped: int

    @property
    def mean(self) -> np.ndarray:
        """E[w] (p,)."""
        return np.asarray(coin_moments(self)[0] - self.log_odds_eta)


def coin_moments(coins: Coins) -> np.ndarray:
    """Mean, variance and third cumulant (3, p) of logit lambda."""
    from mrfbayes.kernels.calibration import coin_cumulants

    out = np.empty((3, coins.a.size))
    coin_cumulants(coins.a, coins.b, out[0], out[1], out[2])
    return out


def match(mode: np.ndarray, spread: np.ndarray, third: np.ndarray, shift: np.ndarray) -> Coins:
    """Coins order to order: (mode, S_jj, kappa, delta), each to its leading order. A coin alone comes out exactly."""
    from mrfbayes.kernels.calibration import match_orders

    a, b = np.empty_like(spread), np.empty_like(spread)
    clipped = match_orders(np.ascontiguousarray(spread), np.ascontiguousarray(third), a, b)
    return Coins(a, b, np.log(a / b) - (mode + shift - 0.5 * (1 / b - 1 / a)), int(clipped))


def match_loop(
    mode: np.ndarray, spread: np.ndarray, third: np.ndarray, shift: np.ndarray, variance: np.ndarray, relative: bool
) -> Coins:
    """Coins whose exact variance is the one-loop one.

    With ``relative``, what is matched is the difference that the loops make beyond the loops of the coin alone: V +
    (variance of the order-to-order coin) - (its own one-loop variance 1/a + 1/b + 1/(2a^2) + 1/(2b^2)). A coin alone,
    and a tree, then still come out exactly.
    """
    from mrfbayes.kernels.calibration import match_cumulants

    target_mean, target_third = mode + shift, third
    clipped = 0
    if relative:
        base = match(mode, spread, third, shift)
        clipped = base.clipped
        mean, own, target_third = coin_moments(base)
        target_mean = mean - base.log_odds_eta
        loops = 1 / base.a + 1 / base.b + 0.5 / base.a**2 + 0.5 / base.b**2
        # As a ratio where the loops are large: a variance must stay positive.
        variance = own * np.where(variance > loops, 1 + (variance - loops) / own, np.exp((variance - loops) / own))
    a, b = np.empty_like(spread), np.empty_like(spread)
    clipped = max(clipped, match_cumulants(np.ascontiguousarray(variance), np.ascontiguousarray(target_third), a, b))
    coins = Coins(a, b, np.zeros_like(a), int(clipped))
    return Coins(a, b, coin_moments(coins)[0] - target_mean, int(clipped))
