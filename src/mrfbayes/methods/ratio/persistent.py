r"""Likelihood ratios from particles that persist (PersistMC; printed Eq. 15; Chen & Welling 2012).

.. math:: \hat r = \frac1s \sum_t \frac{\tilde P(x_t; \theta)}{\tilde P(x_t; \theta^*)}

with x_t the particles of the step before, moved by k Gibbs sweeps under the proposal.

Differs from the paper: the ratio is printed for one observation, for n it enters as its n-th power. Not printed are the
first particles (here draws at the start, exact where feasible) and what happens to particles when the proposal is
rejected: they stay where the proposal has brought them, or go back with ``restore=True``. A proposal outside the
parameter space leaves them alone.
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.methods.ratio import log_mean_exp, of_all, weigh
from mrfbayes.kernels.methods.ratio_sources import draw_particles, sweep_particles
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.methods.ratio.sources import check as check_particles
from mrfbayes.methods.ratio.sources import make_particles, ratio_view
from mrfbayes.model.field import Model
from mrfbayes.priors import Prior

KEEP, RESTORE = range(2)


@kernel
def copy_particles(source, target):
    """Copy of all particles."""
    for i in range(source.shape[0]):
        for w in range(source.shape[1]):
            target[i, w] = source[i, w]


@kernel(inline="always")
def ratio(view, random_state):
    """Log r of all observations and its variance, Eq. (15)."""
    data, nodes = view.data, view.data.n_node_rows
    potentials = data.current
    if math.isnan(view.log_weight[0]):  # the first step of a chain
        draw_particles(view.source, potentials[:nodes], potentials[nodes:], view.particles, random_state)
        view.log_weight[0] = 0.0
    if view.variant == RESTORE:
        copy_particles(view.particles, view.before)
    potentials = data.proposed
    sweep_particles(view.source, potentials[:nodes], potentials[nodes:], view.particles, view.n_sweeps, random_state)
    weigh(view.weigher, view.particles, data.step[:nodes], data.step[nodes:], view.log_weights)
    log_r, variance = log_mean_exp(view.log_weights[: view.weigher.n], 1.0, view.work)  # Eq. (15)
    return of_all(data, log_r, variance)


@kernel
def on_accept(view, accepted):
    """Take the particles back where that was asked for."""
    if view.variant == RESTORE and not accepted:
        copy_particles(view.before, view.particles)


def check(model: Model, prior: Prior, *, particles: int, k: int, restore: bool, source: str, sweeps: int) -> None:
    """Refuse options that cannot be."""
    if not isinstance(restore, (bool, np.bool_)):
        raise InputError(f"restore = {restore!r}: True to take particles back when a proposal is rejected, or False.")
    whole("k", k)
    check_particles(model, prior, particles=particles, source=source, sweeps=sweeps)


def prepare(
    problem: Problem,
    *,
    particles: int = 1000,
    k: int = 1,
    restore: bool = False,
    source: str = "auto",
    sweeps: int = 1000,
) -> Prepared:
    """Each chain has its own ``particles``, made by ``source`` and ``sweeps`` and moved by ``k`` sweeps per step."""
    made = make_particles(problem.model, particles, source, sweeps)
    view = ratio_view(problem, made, "persistent", variant=RESTORE if restore else KEEP, n_sweeps=k)

    def carry(seed: np.random.SeedSequence, theta: np.ndarray) -> dict[str, np.ndarray]:
        return {"particles": np.zeros_like(made.array), "log_weight": np.full(2, np.nan)}

    details = {**made.details, "k": k, "restore": bool(restore)}
    return Prepared(view, is_ratio=True, carry=carry, unused=made.unused, details=details)
