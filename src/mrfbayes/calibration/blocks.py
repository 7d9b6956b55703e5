"""Local moments: for every parameter the block of parameters near it, its variance, and third-order sums over it.

Statistics of particles are held as bit planes, one word for 64 particles, so that a million parameters fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfbayes.base.checks import require_memory, whole
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.kernels.calibration.blocks import fill_blocks, local_covariance, local_third
from mrfbayes.model.field import Model
from mrfbayes.particles.ensembles import BitChains, Chains
from mrfbayes.particles.moments import row_statistics
from mrfbayes.particles.sweeps import in_threads, split_in_threads

LARGEST_BLOCK = 400
WINDOWS = 4_096, 32_768  # least and most parameters whose third-order sums are made at once
NOISE_SAMPLE = 20_000  # parameters whose variance is compared between two halves of the particles


@dataclass(frozen=True)
class Blocks:
    """For every parameter those near it, itself first: ``member[offset[j]:offset[j+1]]``."""

    offset: np.ndarray
    member: np.ndarray

    @property
    def largest(self) -> int:
        """Size of the largest block."""
        return int(np.diff(self.offset).max(initial=1))


def local_blocks(model: Model, distance: int = 2, chosen: np.ndarray | None = None) -> Blocks:
    """Parameters within ``distance`` steps of each; one step apart are those that share a variable.

    Inside a grid of agreement coins a block has 7, 23, 47 edges at distance 1, 2, 3. With ``chosen``, blocks of these
    parameters alone.
    """
    distance = whole("distance", distance)
    scope = _scopes(model)
    ends = np.concatenate([scope[:, 0], scope[scope[:, 0] != scope[:, 1], 1]])
    owner = np.concatenate([np.arange(len(scope)), np.flatnonzero(scope[:, 0] != scope[:, 1])])
    order = np.argsort(ends, kind="stable")
    offset = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=model.n_nodes))])
    parameter = np.ascontiguousarray(owner[order])
    chosen = np.arange(model.n_parameters) if chosen is None else np.ascontiguousarray(chosen, dtype=np.int64)
    block_offset = np.zeros(chosen.size + 1, dtype=np.int64)
    arguments = (scope, offset, parameter, int(distance), LARGEST_BLOCK, chosen, block_offset)
    if not fill_blocks(*arguments, np.zeros(0, dtype=np.int32)):
        raise CostError(
            f"blocks at distance {distance} have more than {LARGEST_BLOCK} parameters on this graph: use a smaller "
            "distance."
        )
    member = np.empty(int(block_offset[-1]), dtype=np.int32)
    fill_blocks(*arguments, member)
    return Blocks(block_offset, member)


def _scopes(model: Model) -> np.ndarray:
    """(p, 2) variables of each parameter; refuses tied blocks and scores, which are not local indicators."""
    if (model.chart.tosses > 1).any():
        raise CostError(
            "local moments are for factors that are not tied and are no scores: use method='mle' or 'pseudo'."
        )
    scope = np.zeros((model.n_parameters, 2), dtype=np.int64)
    for group in model.groups:
        for outcome in range(group.sides - 1):
            scope[model.chart.offset[group.block] + outcome] = group.scope[:, [0, -1]]
    return scope


def statistic_planes(model: Model, words: np.ndarray) -> np.ndarray:
    """s of bit-sliced particles of a binary field, as planes (p, n_words); ``words`` (d, n_words), all of them full."""
    _scopes(model)
    p, n_words = model.n_parameters, words.shape[1]
    what = f"{p:,} statistics of {64 * n_words:,} particles"
    require_memory(8 * p * n_words, what, "ask for fewer particles=, or use method='mle'")
    planes = np.empty((p, n_words), dtype=np.uint64)
    for group in model.groups:
        for outcome in range(group.sides - 1):
            parameter = model.chart.offset[group.block] + outcome
            for low in range(0, parameter.size, 1 << 16):  # in parts: fields of a million nodes
                part = slice(low, low + (1 << 16))
                planes[parameter[part]] = _indicator(group.table == outcome, words, group.scope[part])
    return planes


def _indicator(table: np.ndarray, words: np.ndarray, scope: np.ndarray) -> np.ndarray:
    """Planes of [table(x) is True] for every row of ``scope``."""
    out = np.zeros((len(scope), words.shape[1]), dtype=np.uint64)
    for cell in np.argwhere(table):
        term = np.full_like(out, np.uint64(0xFFFFFFFFFFFFFFFF))
        for axis, state in enumerate(cell):
            here = words[scope[:, axis]]
            term &= here if state else ~here
        out |= term
    return out


def planes_of(model: Model, chains: Chains) -> np.ndarray:
    """Statistics of particles (`particles_at`) as planes (p, n_words); their number a multiple of 64."""
    if isinstance(chains, BitChains) and chains.n_particles % 64 == 0:
        return statistic_planes(model, chains.particles)
    _scopes(model)
    return row_planes(row_statistics(model, chains.rows()))


def row_planes(table: np.ndarray) -> np.ndarray:
    """Planes (p, n_words) of 0/1 statistics ``table`` (N, p), N a multiple of 64."""
    if len(table) % 64:
        raise InputError(f"{len(table)} particles: planes hold a multiple of 64.")
    packed = np.packbits(np.ascontiguousarray(table.T).astype(np.uint8), axis=1, bitorder="little")
    planes = np.ascontiguousarray(packed).view(np.uint64)
    return planes if np.little_endian else planes.byteswap()


def plane_means(planes: np.ndarray) -> np.ndarray:
    """Share of ones of every row (p,)."""
    return np.asarray(np.bitwise_count(planes).sum(axis=1, dtype=np.int64) / (64.0 * planes.shape[1]))


@dataclass(frozen=True)
class LocalMoments:
    """Posterior variance and third-order sums of every parameter, from the block around it.

    Attributes
    ----------
    blocks : the parameters near each
    covariance_rows : row j of S within the block of j, at ``blocks.offset[j]:blocks.offset[j+1]``
    variance : (p,) S_jj
    variance_error : (p,) relative Monte-Carlo standard error of each variance; its scale is what two halves of the
        particles show, its pattern that of the errors of E[P_j^2]
    cube, mixed : (p,) E[P_j^3] and E[Q_j P_j], where P = S(s - mean) and Q_j is the part of (s - mean)'S(s - mean)
        inside the block (all of it would drown in noise)
    indefinite : number of blocks whose estimated information was not positive definite, taken as diagonal
    """

    blocks: Blocks
    covariance_rows: np.ndarray
    variance: np.ndarray
    variance_error: np.ndarray
    cube: np.ndarray
    mixed: np.ndarray
    indefinite: int


class LocalInformation:
    """The information of n observations within blocks, from independent particles at the mode.

    Parameters
    ----------
    planes : (p, n_words) statistics of the particles (`statistic_planes`, `row_planes`)
    n : number of observations
    variance : (p,) Var[s_j] at the mode: known, since the mean of s there is the observed one plus the prior's
        gradient over n
    prior_curvature : (p,) minus the second derivatives of the log prior along each coordinate
    """

    def __init__(
        self, planes: np.ndarray, n: float, variance: np.ndarray, prior_curvature: np.ndarray | float, threads: int = 1
    ) -> None:
        self.planes, self.n, self.threads = planes, float(n), threads
        self.prior = np.ascontiguousarray(np.broadcast_to(np.asarray(prior_curvature, dtype=float), (len(planes),)))
        self.variance = np.ascontiguousarray(variance, dtype=float)

    def invert(self, blocks: Blocks, words: slice = slice(None)) -> tuple[np.ndarray, int]:
        """Rows of S within ``blocks``, from some of the particles; and how many blocks were not definite."""
        part = np.ascontiguousarray(self.planes[:, words])
        means = plane_means(part)
        covariance_rows = np.empty(blocks.member.size)

        def run(first: int, last: int) -> int:
            scale = (self.variance, self.n, self.prior)
            where = (blocks.offset, blocks.member, blocks.largest, first, last)
            return int(local_covariance(part, means, *scale, *where, covariance_rows))

        return covariance_rows, sum(split_in_threads(run, 0, blocks.offset.size - 1, self.threads))


def local_moments(
    planes: np.ndarray,
    blocks: Blocks,
    n: float,
    variance: np.ndarray,
    prior_curvature: np.ndarray | float = 0.0,
    threads: int = 1,
) -> LocalMoments:
    """Local inverse information and third-order sums from independent particles at the mode.

    Parameters
    ----------
    blocks : from `local_blocks`
    planes, n, variance, prior_curvature : see `LocalInformation`
    """
    information = LocalInformation(planes, n, variance, prior_curvature, threads)
    covariance_rows, indefinite = information.invert(blocks)
    own = covariance_rows[blocks.offset[:-1]]
    cube, mixed, square_error = _local_third(planes, blocks, covariance_rows, threads)
    error = n * square_error / own
    half = planes.shape[1] // 2
    if half and error.any():
        some = _some_blocks(blocks, NOISE_SAMPLE)
        parts = slice(0, half), slice(half, 2 * half)
        first, second = (information.invert(some, part)[0][some.offset[:-1]] for part in parts)
        # Variances are known, which takes noise from the small end: the halves tell how much is left.
        shown = float(np.sqrt(np.mean(((first - second) / (first + second)) ** 2)))
        error *= shown / float(np.sqrt(np.mean(error**2)))
    return LocalMoments(blocks, covariance_rows, own, error, cube, mixed, indefinite)


def _some_blocks(blocks: Blocks, most: int) -> Blocks:
    """Every k-th block, so that there are at most ``most``."""
    size = np.diff(blocks.offset)
    chosen = np.arange(0, size.size, -(-size.size // most))
    offset = np.concatenate([[0], np.cumsum(size[chosen])])
    place = np.arange(int(offset[-1])) - np.repeat(offset[:-1] - blocks.offset[chosen], size[chosen])
    return Blocks(offset, blocks.member[place])


def _local_third(
    planes: np.ndarray, blocks: Blocks, covariance_rows: np.ndarray, threads: int
) -> tuple[np.ndarray, ...]:
    """E[P_j^3], E[Q_j P_j], and the standard error of E[P_j^2], all (p,)."""
    p, n_words = planes.shape
    means, sums, n_particles = plane_means(planes), np.zeros((p, 4)), 64 * n_words
    in_threads(
        lambda reach: local_third(planes, means, blocks.offset, blocks.member, covariance_rows, reach, sums),
        _windows(blocks),
        threads,
    )
    cube, mixed, square, fourth = (sums / n_particles).T.copy()
    return cube, mixed, np.sqrt(np.maximum(fourth - square**2, 0.0) / n_particles)


def _windows(blocks: Blocks) -> list[tuple[int, ...]]:
    """Ranges of parameters to go through at once: each with the range of its blocks, and of the blocks of those.

    Numbers of near parameters are near on grids and strips, so that a window's work fits into the cache; where they are
    not, there is one window.
    """
    p = blocks.offset.size - 1
    lowest = np.minimum.reduceat(blocks.member, blocks.offset[:-1])
    highest = np.maximum.reduceat(blocks.member, blocks.offset[:-1]) + 1
    found: list[tuple[int, ...]] = []
    size = int(np.clip(p // 16, *WINDOWS))
    for first in range(0, p, size):
        last = min(first + size, p)
        low, high = int(lowest[first:last].min()), int(highest[first:last].max())
        found.append((first, last, low, high, int(lowest[low:high].min()), int(highest[low:high].max())))
    if sum(window[5] - window[4] for window in found) > 4 * p:
        found = [(0, p, 0, p, 0, p)]
    return found
