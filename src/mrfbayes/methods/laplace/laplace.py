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

from typing import Any, NamedTuple

import numpy as np

from mrfbayes.base.checks import one_of
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import child
from mrfbayes.base.types import Workspace
from mrfbayes.exact.choice import exact_cost
from mrfbayes.exact.quantities import fisher_information
from mrfbayes.kernels.base.contracts import implements, log_likelihood, log_likelihood_w
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import log_odds_into
from mrfbayes.methods.laplace.bethe import bethe, bethe_mode
from mrfbayes.methods.problem import Prepared, Problem, writable
from mrfbayes.model.field import Model, factors_per_block
from mrfbayes.particles.moments import row_statistics
from mrfbayes.particles.simulate import simulate
from mrfbayes.priors import Prior

MAX_TIED = 20  # parameters of a tied field whose exact information is looked for
CHEAP_SECONDS = 3.0
MOST_MATRIX_BYTES = 4 * 2**30
ROUNDING = 1e-9  # an eigenvalue below minus this share of the largest variance is not rounding
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
        one_of(name, value, CHOICES[name])
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
    offset, work = writable(model.chart.offset, np.int64), (np.zeros(p), np.zeros(p))
    view = LaplaceView(offset, writable(at), writable(slope), start, half, coordinate == "theta", *work)
    unused = {} if fisher == "particles" else {"particles": f"fisher={fisher!r} needs none"}
    return Prepared(view, unused=unused, details=details)


def is_exact_cheap(model: Model) -> bool:
    """Whether parameters are tied, few, and their exact information takes a second or so."""
    if model.n_parameters > MAX_TIED or not (factors_per_block(model) > 1).any():
        return False
    work = exact_cost(model).work["fisher_information"]
    return work.feasible and work.seconds < CHEAP_SECONDS


def covariance(problem: Problem, log_odds: np.ndarray, source: str, particles: int, details: dict[str, object]) -> Any:
    """Cov[s] per observation at w, (p, p), dense or sparse; adds what was found to ``details``."""
    model = problem.model
    if source == "bethe":
        found = bethe(model, log_odds)
        details.update({f"bethe_{name}": value for name, value in found.details.items()})
        return found.covariance
    size = 8 * model.n_parameters**2
    if size > MOST_MATRIX_BYTES:
        raise CostError(
            f"fisher={source!r} needs {size / 2**30:.1f} GiB for {model.n_parameters} parameters: use fisher='bethe', "
            "method='mle' or method='calibrated'."
        )
    theta = model.chart.theta(log_odds)
    if source == "exact":
        return fisher_information(model, theta)
    rows = simulate(model, theta, int(particles), rng=child(problem.seed, "laplace"))
    details["particles"] = int(particles)
    return np.atleast_2d(np.cov(row_statistics(model, rows), rowvar=False))


def check_positive(matrix: Any, source: str) -> None:
    """Refuse a quadratic that opens upwards in some direction."""
    if hasattr(matrix, "toarray"):
        return  # sparse only where factors do not respond to one another: a sum of covariances
    slack = ROUNDING * np.diag(matrix).max(initial=1e-300)
    try:
        np.linalg.cholesky(matrix + slack * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        raise InputError(
            f"fisher={source!r}: the information is not positive definite at the estimate, so its quadratic has no "
            "maximum there: use fisher='exact' where it is feasible, or fisher='particles'."
        ) from None


def log_odds_jacobian(model: Model, theta: np.ndarray) -> Any:
    """dw/dtheta, (p, p) sparse: 1/theta_k on the diagonal plus 1/theta_K throughout each block."""
    from scipy import sparse

    chart = model.chart
    blocks = sparse.csr_array((np.ones(theta.size), (np.arange(theta.size), chart.block_of)))
    same = blocks @ sparse.diags_array(1.0 / chart.last_weight(theta)) @ blocks.T
    return (sparse.diags_array(1.0 / theta) + same).tocsr()


def half_matrix(matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the upper triangle, each from its diagonal (halved) to its last entry in use: (start, flat entries)."""
    p = matrix.shape[0]
    if hasattr(matrix, "toarray"):
        row, column = matrix.nonzero()
        last = np.arange(p)
        np.maximum.at(last, row, column)
        rows = [matrix[[i], i : last[i] + 1].toarray().ravel() for i in range(p)]
    else:
        rows = [matrix[i, i:].copy() for i in range(p)]
    for entries in rows:
        entries[0] *= 0.5
    start = np.cumsum([0, *(entries.size for entries in rows)])
    return writable(start, np.int64), writable(np.concatenate([np.zeros(0), *rows]))
