"""The conditional along a line against numerical integration, and its draws against its distribution."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.structure import line as kernel_line
from mrfbayes.kernels.structure.line import KIND, SIZE, VALUES
from mrfbayes.structure import moves

UNIFORM, DIRICHLET, NORMAL, CAUCHY, LOGISTIC = range(5)
DENSITY = {
    NORMAL: lambda a, b: stats.norm(a, b).logpdf,
    CAUCHY: lambda a, b: stats.cauchy(a, b).logpdf,
    LOGISTIC: lambda a, b: stats.logistic(a, b).logpdf,
}


def filled(weight, step, n, slab, here, blocks):
    """A line with one group, a slab (kind, a, b) and blocks (kind, values, place, direction)."""
    line = kernel_line.line_view(1, len(step), 4)
    line.weight[0, : len(step)] = weight
    line.step[0, : len(step)] = step
    line.rate[:, 0] = 1.0, n
    line.term[:, KIND] = kernel_line.ABSENT
    wide = (line.term.shape[1] - VALUES) // 3
    line.term[0, [KIND, SIZE, VALUES, VALUES + 1, VALUES + wide, VALUES + 2 * wide]] = (
        *slab[:1],
        1,
        *slab[1:],
        here,
        1,
    )
    for row, (kind, values, place, direction) in zip(line.term[1:], blocks, strict=False):
        row[KIND], row[SIZE] = kind, len(place)
        row[VALUES : VALUES + len(values)] = values
        row[VALUES + wide : VALUES + wide + len(place)] = place
        row[VALUES + 2 * wide : VALUES + 2 * wide + len(place)] = direction
    return line


def log_conditional(weight, step, n, count, slab, here, blocks):
    """The log conditional without the slab, and the slab, as plain functions of the move."""

    def likelihood(x):
        value = x * count - n * (np.log(np.sum(weight * np.exp(x * step - np.max(x * step)))) + np.max(x * step))
        for kind, values, place, direction in blocks:
            f = np.array(place) + x * np.array(direction)
            if kind == DIRICHLET:
                full = np.append(f, 0.0)
                value += np.array(values) @ full - np.sum(values) * (
                    np.log(np.exp(full - full.max()).sum()) + full.max()
                )
            else:
                value += DENSITY[kind](*values)(f).sum()
        return value

    return likelihood, lambda x: DENSITY[slab[0]](*slab[1:])(here + x)


CASES = {
    "normal slab": ([0.4, 0.2, 0.25, 0.15], [0.06, -0.14, -0.24, 0.56], 300, 20.0, (NORMAL, 0.0, 1.0), 0.7, []),
    "empty cell": ([0.5, 0.3, 0.2, 1e-9], [0.06, -0.14, -0.24, 0.56], 100, -9.9, (CAUCHY, 0.0, 2.5), 0.0, []),
    "node coins": (
        [0.4, 0.2, 0.25, 0.15],
        [0.06, -0.14, -0.24, 0.56],
        50,
        3.0,
        (LOGISTIC, 0.1, 1.3),
        -0.4,
        [(DIRICHLET, [1.0, 1.0], [0.3], [-0.4]), (NORMAL, [0.0, 0.7], [-0.8], [-0.6])],
    ),
    "node dice": (
        [0.1, 0.2, 0.3, 0.15, 0.05, 0.2],
        [0.0, 1.0, 2.0, -1.0, 0.3, 0.7],
        80,
        40.0,
        (NORMAL, 0.0, 0.5),
        0.2,
        [(DIRICHLET, [1.0, 2.0, 0.5], [0.3, -0.2], [-0.4, 1.0]), (CAUCHY, [0.0, 2.0], [0.1, 1.0], [0.5, -0.5])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_bayes_factor_is_the_integral_and_draws_follow_the_density(name):
    weight, step, n, count, slab, here, blocks = CASES[name]
    weight, step = np.array(weight) / np.sum(weight), np.array(step)
    line = filled(weight, step, n, slab, here, blocks)
    likelihood, slab_density = log_conditional(weight, step, n, count, slab, here, blocks)
    grid = np.linspace(-60, 60, 24_001)
    top = max(likelihood(x) + slab_density(x) for x in grid)
    best = grid[np.argmax([likelihood(x) + slab_density(x) for x in grid])]

    def height(x):
        return np.exp(likelihood(x) + slab_density(x) - top)

    edges = [-3000, -60, best - 2, best, best + 2, 60, 3000]
    integral = sum(integrate.quad(height, a, b, limit=400, epsabs=1e-12)[0] for a, b in itertools.pairwise(edges))
    expected = np.log(integral) + top - likelihood(-here)
    constant = {
        NORMAL: -np.log(slab[2] * np.sqrt(2 * np.pi)),
        CAUCHY: -np.log(np.pi * slab[2]),
        LOGISTIC: -np.log(slab[2]),
    }
    state = kernel_state(seed_sequence(3))
    log_odds, draws = [], []
    for k in range(4000):
        kernel_line.draw_along(line, len(step), count, 0.0, k < 50, constant[slab[0]], state)
        if k < 50:
            log_odds.append(line.result[kernel_line.LOG_ODDS])
        else:
            draws.append(line.result[kernel_line.MOVE])
    # Fifty offsets of the grid: the rule does not depend on where its points lie.
    np.testing.assert_allclose(log_odds, expected, atol=2e-4)
    heights = np.array([height(x) for x in grid])
    cdf = np.cumsum(heights) / heights.sum()
    assert stats.kstest(draws, lambda x: np.interp(x, grid, cdf)).pvalue > 1e-6
    spread = np.sqrt(np.sum(heights * grid**2) / heights.sum() - (np.sum(heights * grid) / heights.sum()) ** 2)
    assert stats.kstest(np.array(draws) + 0.2 * spread, lambda x: np.interp(x, grid, cdf)).pvalue < 1e-6


def test_the_absent_kind_is_the_kernels():
    assert moves.NO_SLAB == kernel_line.ABSENT
