"""Pictures of marginals: what is drawn is what was computed, and what is refused."""

import numpy as np
import pytest
from matplotlib import pyplot

import mrfbayes as mb
from mrfbayes.data.statistics import Statistics
from mrfbayes.plots.marginals import draw_density

MODEL = mb.grid(2, 2)
THETA = np.array([0.6, 0.7, 0.55, 0.65])
STATISTICS = Statistics.from_counts(MODEL, [65.0, 75, 60, 70], 100)


class Estimate:
    theta, log_odds = THETA, np.log(THETA / (1 - THETA))
    boundary, penalised, warnings = (), False, ()


@pytest.fixture(scope="module")
def likelihood():
    return mb.likelihood(MODEL, STATISTICS, "mle", estimate=THETA, rho=0.3)


@pytest.fixture(scope="module")
def posterior():
    return mb.sample(MODEL, STATISTICS, "mle", estimate=Estimate(), rho=0.3, draws=5_000, thin=1, rng=0, progress=False)


def test_curves_are_the_marginals(likelihood):
    axes = mb.plots.marginals(likelihood, parameters=1, ax=pyplot.subplots()[1])
    theta, density = axes.lines[0].get_data()
    np.testing.assert_allclose(density, likelihood.marginal(1).pdf(theta))
    assert abs(np.trapezoid(density, theta) - 1) < 1e-3
    assert axes.lines[0].get_label() == r"MLE-L ($\rho$ = 0.3)"


def test_draws_are_smoothed_to_the_same_density(likelihood, posterior):
    theta, density = draw_density(posterior.draws[..., 1].ravel())
    exact = likelihood.marginal(1).pdf(theta)
    assert np.abs(density - exact).max() < 0.06 * exact.max()
    assert abs(np.trapezoid(density, theta) - 1) < 0.01


def test_figure_has_a_panel_each(likelihood, posterior):
    figure = mb.plots.marginals(likelihood, posterior, exact=posterior, truth=THETA, labels=["curve", "draws"])
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert len(shown) == 4
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["exact", "curve", "draws", "truth"]
    assert MODEL.parameters[3].replace("--", " \u2013 ") in shown[3].get_xlabel()
    chosen = mb.plots.marginals(posterior, parameters=[MODEL.parameters[2], -1])
    assert len(chosen.axes) == 2


def test_a_die_is_drawn_from_its_draws():
    model = mb.graph([(0, 1)], states=3, fields=True)
    statistics = Statistics.from_counts(model, [20.0, 12, 9, 14, 8], 30)
    theta = model.chart.theta(np.array([0.4, 0.1, -0.2, 0.3, 0.2]))
    figure = mb.plots.marginals(mb.likelihood(model, statistics, "mle", estimate=theta))
    assert len([axes for axes in figure.axes if axes.get_visible()]) == 5


def test_bad_arguments_are_named(likelihood, posterior):
    other = mb.likelihood(mb.grid(1, 3), Statistics.from_counts(mb.grid(1, 3), [3.0, 4], 9), "mle", estimate=[0.4, 0.5])
    axes = pyplot.subplots()[1]
    for call, words in (
        (lambda: mb.plots.marginals(), "at least one"),
        (lambda: mb.plots.marginals(3), "got int"),
        (lambda: mb.plots.marginals(likelihood, other), "different models"),
        (lambda: mb.plots.marginals(likelihood, parameters="nowhere"), "'nowhere'"),
        (lambda: mb.plots.marginals(likelihood, parameters=[9]), "parameter = 9"),
        (lambda: mb.plots.marginals(likelihood, parameters=[]), "parameters is empty"),
        (lambda: mb.plots.marginals(likelihood, parameters=[0, 1], ax=axes), "takes one parameter"),
        (lambda: mb.plots.marginals(likelihood, labels=["a", "b"]), "labels"),
        (lambda: mb.plots.marginals(likelihood, truth=[0.5]), "truth has shape (1,)"),
        (lambda: mb.plots.marginals(likelihood, exact="yes"), "got str"),
        (lambda: draw_density(np.full(10, 0.5)), "did not move"),
    ):
        with pytest.raises(mb.InputError) as error:
            call()
        assert words in str(error.value)
