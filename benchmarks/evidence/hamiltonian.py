"""Reference draws that owe nothing to calibrated coins: Hamiltonian Monte Carlo in log-odds with the Fisher metric."""

from __future__ import annotations

import numpy as np

from mrfbayes.exact import moments_w

STEPS = 12
WARM_UP = 100


def hamiltonian_draws(problem, mode, factor, n, rng):
    """(n, p) draws of w from one chain in the coordinates w = mode + factor @ x; step size tuned in warm-up."""
    counts, size, prior, model = (
        problem.statistics.counts,
        problem.statistics.n,
        problem.prior,
        problem.model,
    )

    def target(x):
        w = mode + factor @ x
        log_z, mean = moments_w(model, w)
        value = counts @ w - size * log_z + prior.log_density_w(w)
        return value, factor.T @ (counts - size * mean + prior.gradient_w(w))

    p = mode.size
    x = rng.standard_normal(p)
    value, gradient = target(x)
    step = 0.6 / p**0.25
    draws = np.empty((n, p))
    for k in range(-WARM_UP, n):
        momentum = rng.standard_normal(p)
        y, slope, energy = x, gradient, value - momentum @ momentum / 2
        length = step * rng.uniform(0.8, 1.2)
        for _ in range(STEPS):
            momentum = momentum + 0.5 * length * slope
            y = y + length * momentum
            new_value, slope = target(y)
            momentum = momentum + 0.5 * length * slope
        chance = min(0.0, new_value - momentum @ momentum / 2 - energy)
        accepted = np.log(rng.uniform()) < chance
        if accepted:
            x, value, gradient = y, new_value, slope
        if k < 0:
            step *= np.exp(0.1 * (np.exp(max(chance, -50.0)) - 0.8))
        else:
            draws[k] = mode + factor @ x
    return draws
