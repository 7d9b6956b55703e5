r"""Laplace approximation of the likelihood (Laplace-L; Welling & Parise 2006): a quadratic at the MLE.

.. math:: \log L(w) = g^T (w - \hat w) - \tfrac12 (w - \hat w)^T I (w - \hat w), \qquad I = n\, \mathrm{Cov}_{\hat w}[s]

with g = 0 at a maximum likelihood estimate; where that is not finite and the estimate is penalised, g is the gradient
of the log-likelihood there. The prior is applied apart.

Differs from the paper: it does not say where Cov[s] comes from, nor in which coordinate the quadratic is one. Here:
``fisher="bethe"`` (linear response of belief propagation, as in the work it cites), "exact" or "particles"; "auto" is
"exact" for tied parameters where that is cheap, since Bethe's sds are some 50 % too large there, and "bethe" elsewhere;
``coordinate="log-odds"`` or "theta" (then the information is dw/dtheta' I dw/dtheta); ``centre="mle"``, or "bethe": the
maximum of the Bethe likelihood instead of that of the likelihood.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.views import Workspace
from mrfbayes.kernels.base.chart import log_odds_into
from mrfbayes.kernels.base.contracts import implements, log_likelihood, log_likelihood_w
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.methods.laplace.bethe import bethe_mode
from mrfbayes.methods.laplace.information import (
    check_positive,
    covariance,
    half_matrix,
    is_exact_cheap,
    log_odds_jacobian,
)
from mrfbayes.methods.problem import Prepared, Problem, writable
from mrfbayes.model.field import Model
from mrfbayes.priors import Prior

CHOICES = {
    "fisher": ("auto", "bethe", "exact", "particles"),
    "coordinate": ("log-odds", "theta"),
    "centre": ("mle", "bethe"),
}


class LaplaceView(NamedTuple):
    """A quadratic; half of its symmetric matrix, row i from the diagonal (halved) to its last column in use."""

    offset: np.ndarray  # (B+1,) of the chart
    centre: np.ndarray  # (p,)
    slope: np.ndarray  # (p,)
    start: np.ndarray  # (p+1,) into half
    half: np.ndarray
    in_theta: bool
    deviation: Workspace  # (p,)
    product: Workspace  # (p,)


@implements(log_likelihood, LaplaceView)
@kernel
def laplace_log_likelihood(view, theta):
    if not view.in_theta:
        log_odds_into(view.offset, theta, view.deviation)
    return _quadratic(view, theta if view.in_theta else view.deviation)


@implements(log_likelihood_w, LaplaceView)
@kernel
def laplace_log_likelihood_w(view, log_odds, theta):
    return _quadratic(view, theta if view.in_theta else log_odds)


@kernel
def _quadratic(view, point):
    """The quadratic at ``point`` (p,), which may be the view's own deviation."""
    deviation, product, half = view.deviation, view.product, view.half
    for j in range(point.size):
        deviation[j] = point[j] - view.centre[j]
        product[j] = view.slope[j]
    if half.size == point.size:  # diagonal: Bethe without fields, as long as its uniform messages are stable
        for j in range(point.size):
            product[j] -= half[j] * deviation[j]
    else:
        for i in range(point.size):
            # Row by row into a vector: no running sum, so the inner loop is SIMD code in strict arithmetic.
            first, stop, scale = view.start[i], view.start[i + 1], deviation[i]
            for k in range(stop - first):
                product[i + k] -= half[first + k] * scale
    total = 0.0
    for j in range(point.size):
        total += product[j] * deviation[j]
    return total


def check(model: Model, prior: Prior, *, fisher: str, coordinate: str, centre: str, particles: int) -> None:
    """Refuse options that cannot be."""
    for name, value in (("fisher", fisher), ("coordinate", coordinate), ("centre", centre)):
        if value not in CHOICES[name]:
            raise InputError(f"{name} = {value!r}: choose one of {', '.join(map(repr, CHOICES[name]))}.")
    if isinstance(particles, bool) or not isinstance(particles, (int, np.integer)) or particles < 2:
        raise InputError(f"particles = {particles!r}: a covariance needs a whole number of draws, at least 2.")


def prepare(
    problem: Problem,
    *,
    fisher: str = "auto",
    coordinate: str = "log-odds",
    centre: str = "mle",
    particles: int = 10_000,
) -> Prepared:
    """Quadratic log-likelihood; ``particles`` is how many draws ``fisher="particles"`` uses."""
    model, statistics = problem.model, problem.statistics
    check(model, problem.prior, fisher=fisher, coordinate=coordinate, centre=centre, particles=particles)
    if fisher == "auto":
        fisher = "exact" if is_exact_cheap(model) else "bethe"
    details: dict[str, object] = {"fisher": fisher}
    slope = np.zeros(model.n_parameters)
    if centre == "bethe":
        log_odds = bethe_mode(model, statistics.mean)
    else:
        log_odds = np.asarray(problem.estimate.log_odds)
        if problem.estimate.prior is not None:
            slope = -problem.estimate.prior.gradient_w(log_odds)  # at the mode both gradients add to zero
    information = statistics.n * covariance(problem, log_odds, fisher, particles, details)
    check_positive(information, fisher)
    at = log_odds
    if coordinate == "theta":
        at = model.chart.theta(log_odds)
        jacobian = log_odds_jacobian(model, at)
        information, slope = jacobian.T @ information @ jacobian, jacobian.T @ slope
    start, half = half_matrix(information)
    p = model.n_parameters
    view = LaplaceView(
        writable(model.chart.offset, np.int64),
        writable(at),
        writable(slope),
        start,
        half,
        coordinate == "theta",
        np.zeros(p),
        np.zeros(p),
    )
    unused = {} if fisher == "particles" else {"particles": f"fisher={fisher!r} needs none"}
    return Prepared(view, unused=unused, details=details)
