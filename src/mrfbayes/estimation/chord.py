"""Chord Newton with persistent chains (`mrfbayes.estimation.dense_mode`), where nodes have many neighbours."""

from __future__ import annotations

from mrfbayes.base.errors import InputError
from mrfbayes.estimation.dense_mode import CHAINS, WANTED, DensePosterior, can_be_dense, dense_mode
from mrfbayes.estimation.result import Outcome, Recorder, Task
from mrfbayes.model.field import Model
from mrfbayes.model.natural_form import MOST_DENSE_PARAMETERS
from mrfbayes.particles.tables import cell_layout

FINE_PARAMETERS, FINE_TOLERANCE = 400, 0.0065  # up to so many parameters a finer tolerance costs little
MAX_START_ERRORS, MAX_START_SD = 5.0, 0.1  # standard errors between chains from two starts; posterior sds


def refuse(model: Model) -> None:
    """Refuse a field whose covariance is out of reach."""
    if not can_be_dense(model):
        raise InputError(
            f"algorithm = 'chord' is for 1 to {MOST_DENSE_PARAMETERS:,} parameters, and {model!r} has "
            f"{model.n_parameters:,}: use 'pcd' or 'auto'."
        )


def run(task: Task, *, particles: int | None = None, tolerance: float | None = None) -> Outcome:
    """Newton steps with a covariance that is kept while it serves, from the maximum of the pseudolikelihood.

    Parameters
    ----------
    particles : Gibbs chains of each of eight groups; default 256
    tolerance : rms noise of the estimate, in posterior sds, at which to stop; default 0.0065, with more than 400
        parameters 0.015
    """
    if tolerance is None:
        tolerance = FINE_TOLERANCE if task.model.n_parameters <= FINE_PARAMETERS else WANTED
    layout = cell_layout(task.model)
    trace = Recorder(task)
    posterior = DensePosterior(layout, task.stats, task.prior)
    chains = CHAINS if particles is None else particles
    found = dense_mode(posterior, task.seed, chains, task.threads, tolerance)
    trace.add(0, found.error, found.w)
    warnings = []
    if found.disagreement > MAX_START_ERRORS:
        warnings.append(
            f"Gibbs chains that started at the data and at random still differ, by {found.disagreement:.1f} standard "
            "errors: the field is ordered and its chains do not mix, so the estimate cannot be trusted"
        )
    return Outcome(
        found.w,
        found.converged and found.error < MAX_START_SD and found.disagreement <= MAX_START_ERRORS,
        found.residual,
        found.steps,
        trace,
        found.largest_noise,
        found.standard_error,
        warnings,
        {"error": found.error, "noise": found.noise, "start_disagreement": found.disagreement},
    )
