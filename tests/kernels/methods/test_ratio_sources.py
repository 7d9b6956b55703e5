"""Particles inside chains: every kind of source has the field's law, drawn exactly or by sweeps."""

import numpy as np
import pytest

import mrfbayes as mb
import small_fields
from frequencies import ALPHA, chi_square_p, state_counts
from mrfbayes.base.random_streams import kernel_state
from mrfbayes.kernels.methods.ratio_sources import draw_particles, sweep_particles
from mrfbayes.methods.ratio.sources import make_particles
from mrfbayes.particles.sweeps import unpack

N = 64 * 400
MODELS = {
    "GridSource": lambda: mb.grid(2, 3, fields=True),
    "GraphSource": lambda: mb.graph(small_fields.SQUARE, fields=True),
    "HubSource": lambda: mb.graph([(0, k) for k in range(1, 8)] + [(1, 2)], fields=True),
    "TableSource": lambda: mb.graph([(0, 1), (2, 1)], states=[2, 3, 2], fields=True, coupling="table"),
}


@pytest.mark.parametrize("kind", MODELS)
def test_draws_and_sweeps_have_the_law_of_the_field(kind):
    model = MODELS[kind]()
    theta, other = small_fields.random_theta(model, 1), small_fields.random_theta(model, 2)
    state = kernel_state(np.random.SeedSequence(3))

    def p_value(particles, at):
        x = unpack(particles, N) if model.is_binary else particles.T
        logs = small_fields.log_weights(model, at, small_fields.states(model))
        return chi_square_p(state_counts(x, model.states), np.exp(logs - small_fields.log_z(model, at)))

    for way in ("exact", "gibbs"):
        made = make_particles(model, N, way, sweeps=40)
        assert type(made.source).__name__ == kind
        draw_particles(made.source, *model.lowering.potentials(model.chart.log_odds(theta)), made.array, state)
        assert p_value(made.array, theta) > ALPHA
        assert p_value(made.array, other) < ALPHA
        sweep_particles(made.source, *model.lowering.potentials(model.chart.log_odds(other)), made.array, 40, state)
        assert p_value(made.array, other) > ALPHA
