r"""The covariance of the log-odds to one loop, beyond the leading order S.

.. math::
    V = S + S\,[\tfrac12 L_{abcd} S_{cd} + \tfrac12 L_{acd} L_{bef} S_{ce} S_{df} + L_{abc}\delta_c]\,S

L's derivatives are -n times the field's cumulants plus those of the prior. With D = s - E[s], P = S D, Q = D'SD and C
the covariance of s, the field's part needs

.. math::
    S_{aj} S_{bk} \kappa_{abcd} S_{cd} = E[P_j P_k (Q - E Q)] - 2 (SCSCS)_{jk}, \qquad
    S_{aj} S_{bk} \kappa_{acd} \kappa_{bef} S_{ce} S_{df} = E[P_j P'_k (D' S D')^2],

the second expectation over pairs of independent samples, which has no bias to remove. On small fields the sums go over
all configurations; else the first is sampled and the second polarised, or sampled where that is too much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.random_streams import child
from mrfbayes.calibration.cumulants import Cumulants, ObservedCumulants
from mrfbayes.calibration.expansion import Mode, PriorTensors, ThirdOrder

LOOP_NOISE = 1e-3  # of a variance, the largest: sampling stops there
LOOP_SAMPLES = 262_144  # or after so many samples
MISSING_CELLS = 3e9  # the same where cells are missing, when there is no other way
POLARISED_CELLS = 1e8  # table cells of directional derivatives up to which the sum over pairs is done exactly
PAIR_SAMPLES = 8_192  # of them at most in the sum over pairs
FIRST_PAIR_SAMPLES = 2_048  # with which that sum begins, before it doubles
PAIR_BLOCKS = 8  # parts of the sum over pairs, whose differences tell its noise
LOOP_BATCH = 4_096  # samples drawn at once: tables are filled for every batch


class Effort(NamedTuple):
    """How much may be sampled, and the relative noise of a variance at which it is enough."""

    samples: int = LOOP_SAMPLES
    pairs: int = PAIR_SAMPLES
    noise: float = LOOP_NOISE


def one_loop(
    mode: Mode, n: float, order: ThirdOrder, seed: np.random.SeedSequence, effort: Effort | None = None
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

    if isinstance(mode.cumulants, ObservedCumulants):
        fourth_field, pair_terms = _observed_loops(mode, mode.cumulants, order, n, seed, effort or Effort())
    else:
        squared, pair_terms = _sampled_loops(mode, order, known, n, seed, effort or Effort())
        squared[np.diag_indices_from(squared)] += known**2 * skew * order.trace_terms.sum(axis=0)
        pair_terms += (s @ field * skew * known) @ (s @ field * skew * known).T
        fourth_field = squared - 2 * scs @ field @ s

    fourth = -n * fourth_field + s @ tensors.fourth @ s
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


def usable(loops: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, float]:
    """The one-loop covariance, drawn towards S as far as it takes to be safely positive definite; and how far."""
    raised = 0.0
    while True:
        mixed = (1 - raised) * loops + raised * covariance
        scale = np.sqrt(np.abs(np.diag(covariance)))
        smallest = float(np.linalg.eigvalsh(mixed / np.outer(scale, scale))[0])
        floor = float(np.linalg.eigvalsh(covariance / np.outer(scale, scale))[0])
        if smallest > 0.2 * floor or raised >= 1.0:
            return mixed, raised
        raised = min(1.0, raised + 0.125)


def _sampled_loops(
    mode: Mode, order: ThirdOrder, known: np.ndarray, n: float, seed: np.random.SeedSequence, effort: Effort
) -> tuple[np.ndarray, np.ndarray]:
    """E[P_j P_k (Q - E Q)] and E[P_j P'_k (D'SD')^2] less what the squares of single statistics explain."""
    s, cumulants = mode.covariance, mode.cumulants
    expected = float(np.einsum("ab,ab->", s, cumulants.covariance))
    states = cumulants.states()
    if states is not None:  # few enough to sum over all of them: no noise
        d, probability = states[0] - cumulants.mean, states[1]
        half = d, d @ s * probability[:, None]
        return _squared(d, probability, s, expected, known), _pair_products(half, half, s, known)
    polarised = _polarised_products(mode, order.trace_terms, known, POLARISED_CELLS)
    if polarised is not None:
        effort = effort._replace(pairs=0)
    squared, kept = _sampled_squares(cumulants, s, known, n, seed, effort)
    if polarised is not None:
        return squared, polarised
    return squared, _sampled_products(np.concatenate(kept), s, known, n, effort.noise)


def _sampled_products(d: np.ndarray, s: np.ndarray, known: np.ndarray, n: float, most_noise: float) -> np.ndarray:
    """The sum over pairs from as many of the samples ``d`` as keep its noise below ``most_noise`` of every variance."""
    half, size = len(d) // 2, min(FIRST_PAIR_SAMPLES, len(d)) // 2
    while True:
        second = d[half : half + size], d[half : half + size] @ s / size
        blocks = np.array_split(d[:size], PAIR_BLOCKS)
        parts = np.array([_pair_products((part, part @ s / len(part)), second, s, known) for part in blocks])
        # Either side of a pair has as much noise as the side whose blocks differ.
        noise = np.sqrt(2 / PAIR_BLOCKS) * np.diagonal(parts, axis1=1, axis2=2).std(axis=0, ddof=1)
        if size == half or float((0.5 * n * n * noise / np.diag(s)).max()) < most_noise:
            products = parts.mean(axis=0)
            return np.asarray((products + products.T) / 2)
        size = min(2 * size, half)


def _sampled_squares(
    cumulants: Cumulants, s: np.ndarray, known: np.ndarray, n: float, seed: np.random.SeedSequence, effort: Effort
) -> tuple[np.ndarray, list[np.ndarray]]:
    """E[P_j P_k (Q - E Q)] from samples, as many as it takes, and the first of them."""
    samples, pairs, most_noise = effort
    expected = float(np.einsum("ab,ab->", s, cumulants.covariance))
    squared: list[np.ndarray] = []
    kept: list[np.ndarray] = []
    done = 0
    while done < samples:
        budget().check("loops")
        d = cumulants.draw(LOOP_BATCH, child(seed, done // LOOP_BATCH)) - cumulants.mean
        squared.append(_squared(d, np.full(LOOP_BATCH, 1 / LOOP_BATCH), s, expected, known))
        if done < pairs:
            kept.append(d[: pairs - done])
        done += LOOP_BATCH
        if done >= 8 * LOOP_BATCH and done >= pairs:
            diagonal = np.array([np.diag(part) for part in squared])
            noise = diagonal.std(axis=0, ddof=1) / np.sqrt(len(squared))
            if float((0.5 * n * noise / np.diag(s)).max()) < most_noise:
                break
    return np.asarray(np.mean(squared, axis=0)), kept


def _observed_loops(
    mode: Mode, cumulants: ObservedCumulants, order: ThirdOrder, n: float, seed: np.random.SeedSequence, effort: Effort
) -> tuple[np.ndarray, np.ndarray]:
    """S kappa_4 S and the sum over pairs, for data with missing cells: the field's own less what clamped rows have."""
    s, free = mode.covariance, cumulants.free
    nothing = np.zeros(len(s))
    states = free.states()
    if states is not None:
        d, probability = states[0] - free.mean, states[1]
        expected = float(np.einsum("ab,ab->", s, free.covariance))
        squared = _squared(d, probability, s, expected, nothing)
    else:
        squared, _ = _sampled_squares(free, s, nothing, n, seed, effort._replace(pairs=0))
    fourth = squared - 2 * s @ free.covariance @ s @ free.covariance @ s - cumulants.clamped_fourth(mode.factor)
    products = _polarised_products(mode, order.trace_terms, nothing, MISSING_CELLS)
    assert products is not None
    return np.asarray(fourth), products


def loops_are_affordable(mode: Mode) -> bool:
    """Whether loops can be summed; where cells are missing there is no sampling to fall back on."""
    cumulants = mode.cumulants
    if not isinstance(cumulants, ObservedCumulants):
        return True
    return not cumulants.clamped.large and len(mode.w) ** 2 / 2 * cumulants.direction_cells <= MISSING_CELLS


def _polarised_products(
    mode: Mode, along_factor: np.ndarray, known: np.ndarray, most_cells: float
) -> np.ndarray | None:
    """What `_pair_products` estimates, exactly, where p^2 / 2 directional derivatives are cheap.

    With c_k the columns of a factor of S it is the sum over k, l of kappa[P_i, c_k, c_l] kappa[P_j, c_k, c_l]; where k
    and l differ, 2 kappa[., c_k, c_l] = kappa[., c_k + c_l, c_k + c_l] - kappa[., c_k, c_k] - kappa[., c_l, c_l].
    """
    s, columns = mode.covariance, mode.factor.T
    p = len(s)
    if p * p / 2 * mode.cumulants.direction_cells > most_cells:
        return None
    products = along_factor @ s
    products = products.T @ products
    for k in range(p - 1):
        sums = mode.cumulants.contract_third(columns[k] + columns[k + 1 :])
        mixed = (sums - along_factor[k] - along_factor[k + 1 :]) @ s
        products += mixed.T @ mixed / 2  # twice, for (k, l) and (l, k); a quarter, for polarisation
    skew = np.where(mode.cumulants.is_indicator, 1 - 2 * mode.cumulants.mean, 0.0)
    field = s @ mode.cumulants.covariance * skew * known
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
        budget().check("loops")
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
