"""Monte Carlo maximum likelihood: weights of particles, the weighted moment equation, and the maximum itself."""

import numpy as np
import pytest

from estimation.fields import FIELDS, Enumerated, weak
from estimation.sampling_cases import PRIORS, TRIED, check_maximum, check_mode
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.data.data import Data
from mrfbayes.estimation.estimate import estimate
from mrfbayes.estimation.result import Task
from mrfbayes.estimation.reweighting import evenness, solve, weights_at
from mrfbayes.model.build import grid

SETTINGS = {"particles": 1024, "tolerance": 0.05}


def test_weights_bring_the_moments_of_one_field_to_another():
    """All configurations at their probabilities under w, weighted, have the enumerated mean at another w."""
    field = Enumerated.of(FIELDS["four nodes with fields"])
    w, other = weak(field.model, 1), weak(field.model, 2)
    weight = weights_at(field.statistics, w)  # of equal particles: the field at w itself
    np.testing.assert_allclose(weight @ field.statistics, field.moments(w)[0], rtol=1e-10)
    both = weight * weights_at(field.statistics, other - w)
    np.testing.assert_allclose(both @ field.statistics / both.sum(), field.moments(other)[0], rtol=1e-10)


def test_evenness_is_the_effective_share():
    assert evenness(np.full(8, 1 / 8)) == pytest.approx(1)
    assert evenness(np.array([0.5, 0.5, 0, 0])) == pytest.approx(0.5)
    assert evenness(np.eye(1, 10)[0]) == pytest.approx(0.1)


def test_the_weighted_equation_is_solved_by_the_maximum():
    """With every configuration once as particles at w = 0 the weighted field is the field itself."""
    field = Enumerated.of(FIELDS["2x3 grid"])
    x = field.draw(0.4 * weak(field.model, 3), 400, 4)
    task = Task(field.model, Data(x).count(field.model), None, seed_sequence(1), 1, Progress("", 1.0, False))
    w, reached = solve(task, field.statistics, np.zeros(field.model.n_parameters))
    assert reached
    np.testing.assert_allclose(w, field.maximum(x), atol=1e-4)


@pytest.mark.parametrize("name", TRIED)
@pytest.mark.parametrize("algorithm", ["mcmc-mle", "pf-mcmc-mle"])
def test_reaches_the_maximum_within_the_stated_error(solved, algorithm, name):
    check_maximum(solved[name], algorithm, **SETTINGS)


@pytest.mark.parametrize(("name", "prior"), PRIORS)
def test_modes_under_any_prior_agree_with_exact_ones(name, prior):
    check_mode(name, prior, "mcmc-mle", **SETTINGS)


@pytest.mark.parametrize(
    ("algorithm", "options", "text"),
    [
        ("mcmc-mle", {"sweeps": 0}, "sweeps = 0: give a whole number, at least 1"),
        ("pf-mcmc-mle", {"steps": 0}, "steps = 0: give a whole number, at least 1"),
    ],
)
def test_errors_say_what_to_do(algorithm, options, text):
    x = Enumerated.of(grid(2, 2)).draw(np.full(4, 0.3), 50, 1)
    with pytest.raises(InputError, match=text):
        estimate(grid(2, 2), x, algorithm=algorithm, **options)


@pytest.mark.parametrize("algorithm", ["mcmc-mle", "pf-mcmc-mle"])
def test_algorithms_that_weight_particles_refuse_many_parameters(algorithm):
    x = np.random.default_rng(1).integers(0, 2, (50, 1600))
    with pytest.raises(CostError, match=f"'{algorithm}'.* weights particles by all 3120 statistics"):
        estimate(grid(40, 40), x, algorithm=algorithm)
