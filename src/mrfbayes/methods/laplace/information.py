"""Where the quadratic of the Laplace approximation comes from: Cov[s] by three routes, and how it is stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import child
from mrfbayes.exact.cost import exact_cost
from mrfbayes.methods.laplace.bethe import bethe
from mrfbayes.methods.problem import Problem, writable
from mrfbayes.model.field import Model, factors_per_block

MAX_TIED = 20  # parameters of a tied field whose exact information is looked for
CHEAP_SECONDS = 3.0
MOST_MATRIX_BYTES = 4 * 2**30
ROUNDING = 1e-9  # an eigenvalue below minus this share of the largest variance is not rounding


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
        from mrfbayes.exact.quantities import fisher_information

        return fisher_information(model, theta)
    from mrfbayes.particles.moments import row_statistics
    from mrfbayes.particles.simulate import simulate

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
