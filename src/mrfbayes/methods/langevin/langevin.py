r"""`langevin`: the true likelihood of dense fields, by replicas whose gradients come from persistent Gibbs chains.

.. math:: y \leftarrow y + h L^T \hat g(c + L y) + s \sqrt{h/2}\,(z_t + z_{t-1}), \qquad
          \hat g(w) = s_{obs} - n \hat E_w[s] + \nabla \log \text{prior}(w)

Preconditioned by the covariance L L^T at the mode c (`estimation.dense_mode`), with two noises per step (Leimkuhler
and Matthews 2013), each replica with chains of its own, its noise corrected for the gradient's noise direction by
direction (`mrfbayes.methods.langevin.walk`), and moments from the difference to a Gaussian control at the same random
numbers (`mrfbayes.methods.langevin.moments`). Fields that are products or agreements have the fastest chains
(`mrfbayes.particles.dense`); tables of nominal variables have others (`mrfbayes.particles.dense`). Where cells are
missing, s_obs is what the data are expected to have in full, given what is seen of them, at w: summed over, or sampled
by clamped chains where that is too much (`mrfbayes.particles.completions`).

There is no accept or reject step: the target is approximate. What remains is the step's own error, third order in the
posterior's skewness, and chains that lag behind their replica; both are measured on fields whose posterior is known.

Differs from the paper: it is not in the paper, which has no method for the true likelihood of fields of this size.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.checks import require_memory, whole
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import child
from mrfbayes.estimation.dense_mode import CHAINS, DensePosterior, dense_mode
from mrfbayes.methods.cost import is_large_sparse
from mrfbayes.methods.langevin.walk import Walk, WalkSettings
from mrfbayes.methods.langevin.warp import make_warp
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.model.covariates import CovariateModel
from mrfbayes.model.field import Model
from mrfbayes.model.natural_form import MOST_DENSE_PARAMETERS, PRODUCT_FORM
from mrfbayes.particles.dense import TableLayout, cell_layout
from mrfbayes.priors import Prior

STEPS, WARMUP = 270, 90
MORE_STEPS = ((200, 810), (600, 540))  # parameters up to which steps take milliseconds, and how many are taken then
LEAST_CHAINS, ROWS_PER_CHAIN = 128, 4  # of a replica: the gradient's noise grows with n
MOST_CHAINS = 4_096
COMPLETED_SWEEPS = 20  # of missing cells, where these are sampled
DISAGREEMENT = 5.0  # standard errors between particles from two starts
DOUBTFUL_MODE = 0.1  # posterior sds


def prepare(
    problem: Problem, *, replicas: int = 4, particles: int | None = None, step: float = 0.3, sweeps: int = 3
) -> Prepared:
    """Find the mode and its covariance; `sample` then walks.

    Parameters
    ----------
    replicas : replicas per chain; the result has ``chains * replicas`` of them, each a row of ``post.draws``
    particles : Gibbs chains of each replica; by default they grow with n
    step : h, in (0, 1)
    sweeps : of the Gibbs chains per step; all but the first are counted
    """
    if isinstance(problem.model, CovariateModel):
        from mrfbayes.methods.langevin.covariates import prepare_rows

        return prepare_rows(problem, replicas, particles, step, sweeps)
    layout = cell_layout(problem.model)
    n = float(problem.statistics.n_all)
    chains = int(np.clip(n / ROWS_PER_CHAIN, LEAST_CHAINS, MOST_CHAINS)) if particles is None else particles
    posterior = DensePosterior(layout, problem.statistics, problem.prior)
    seed = child(problem.seed, "langevin")
    mode = dense_mode(posterior, child(seed, "mode"), CHAINS if particles is None else particles, problem.threads)
    warnings = []
    if mode.error > DOUBTFUL_MODE or not (mode.converged or budget().is_out):  # a budget speaks for itself
        warnings.append(
            f"the mode is off by about {mode.error:.2f} posterior sds (root mean square) after {mode.steps} steps: the "
            "Gibbs chains mix too slowly in so ordered a field, and means cannot be trusted."
        )
    if mode.disagreement > DISAGREEMENT:
        warnings.append(
            "Gibbs chains that started at the data and at random still differ, by "
            f"{mode.disagreement:.1f} standard errors: the field is ordered and its chains do not mix, so means and "
            "sds cannot be trusted."
        )
    counts = posterior.completions(1, child(seed, "counts")).at(mode.w, COMPLETED_SWEEPS)
    counts = counts.reshape(-1, mode.w.size).mean(axis=0)
    warp = make_warp(problem, counts, counts - mode.slope, mode)

    def walk(n_chains: int, warmup: int, thin: int) -> Walk:
        settings = WalkSettings(n_chains * replicas, chains, step, sweeps, warmup, thin, problem.threads)
        return Walk(posterior, mode, settings, child(seed, "walk"), warp)

    details = {
        "particles": chains,
        "mode_error": mode.error,
        "mode_noise": mode.noise,
        "start_disagreement": mode.disagreement,
        "newton_steps": mode.steps,
        "skewed_parameters": int(warp.columns.size),
    }
    if mode.complete_sd is not None:
        details["missing_information"] = (1 - (mode.complete_sd / mode.sd) ** 2).tolist()
    return Prepared(None, walk=walk, details=details, warnings=tuple(warnings))


def default_steps(n_parameters: int) -> int:
    """Steps where none are asked for: those of a small field are so cheap that it gets more."""
    return next((steps for most, steps in MORE_STEPS if n_parameters <= most), STEPS)


def check(model: Model, prior: Prior, *, replicas: object, particles: object, step: object, sweeps: object) -> None:
    """Refuse options that cannot be, priors without derivatives, and fields of another kind or size."""
    if not isinstance(step, (int, float)) or not 0 < step < 1:
        raise InputError(f"step = {step!r}: give a number between 0 and 1; 0.3 is usual, less is slower and no better.")
    n_replicas, n_particles = whole("replicas", replicas), LEAST_CHAINS
    whole("sweeps", sweeps)
    if particles is not None:
        n_particles = whole("particles", particles)
    if prior.custom is not None:
        raise InputError("'langevin' needs the prior's derivatives, which a custom prior lacks: use a named prior.")
    if isinstance(model, CovariateModel):  # costs depend on the data
        return
    if is_large_sparse(model):
        raise CostError(
            f"'langevin' takes all {model.n_nodes * (model.n_nodes - 1) // 2:,} pairs of nodes, and this field has "
            f"{model.n_edges:,} edges: use method='calibrated', 'exact' or 'pseudo', which follow its edges."
        )
    if model.n_parameters > MOST_DENSE_PARAMETERS:
        gigabytes = 3 * 8 * model.n_parameters**2 / 1e9
        raise CostError(
            f"'langevin' keeps full covariances of the {model.n_parameters} parameters ({gigabytes:.0f} GB; limit "
            f"{MOST_DENSE_PARAMETERS} parameters): use method='pseudo' or 'mle', or fewer variables."
        )
    d, layout = model.n_nodes, cell_layout(model)
    planes = 1 if isinstance(layout, TableLayout) or layout.coupling == PRODUCT_FORM else int(layout.states.max())
    each = 4 * n_particles * d * planes + 12 * d * d
    # Covariances; chains and couplings of four chains' walks.
    size = 3 * 8 * model.n_parameters**2 + 4 * n_replicas * each
    require_memory(
        size,
        f"'langevin' with {model.n_parameters:,} parameters and {4 * n_replicas:,} replicas",
        "use fewer replicas=, particles= or variables",
    )
