"""What is chosen where the user leaves it open: the method, and how draws are made of it."""

from __future__ import annotations

from mrfbayes.base.errors import InputError
from mrfbayes.calibration.exact_blocks import sees_windows
from mrfbayes.calibration.full import DENSE_PARAMETERS, MOMENT_CELLS, moments_cost
from mrfbayes.estimation.dense_mode import is_dense
from mrfbayes.exact.choice import is_planar_alone, planar_size, weighs_by_planar
from mrfbayes.exact.cost import describe_seconds, predicted_seconds
from mrfbayes.exact.quantities import is_feasible
from mrfbayes.exact.recursions import recursion
from mrfbayes.methods.registry import Row
from mrfbayes.model.field import Model
from mrfbayes.priors import Prior

DENSE_LIMIT = 600  # parameters up to which proposals have a full covariance
AUTO_PROPOSALS, AUTO_SECONDS = 25_000, 10.0  # "auto" is exact where that many evaluations take no longer
AUTO_GRADIENTS = 20_000  # that trajectories take on dense fields, whose calibrated proposals mostly fit badly


def choose_method(model: Model) -> tuple[str, str]:
    """The method that "auto" stands for, and why."""
    other = "langevin" if is_dense(model) else "calibrated"
    if not is_feasible(model):
        if is_planar_alone(model):
            return "calibrated", "calibrated: the field is large; method='exact' is possible, for it is planar"
        return other, f"{other}: the partition function is out of reach (its tables would not fit)"
    width = recursion(model).width
    if is_dense(model):
        seconds = predicted_seconds(recursion(model), "moments", AUTO_GRADIENTS)
    elif model.n_parameters <= DENSE_LIMIT and weighs_by_planar(model):
        size = planar_size(model)
        assert size is not None
        seconds = size.seconds("log_z") * AUTO_PROPOSALS
    else:
        seconds = predicted_seconds(recursion(model), "log_z", AUTO_PROPOSALS)
    if seconds > AUTO_SECONDS:
        return other, f"{other}: exact would take about {describe_seconds(seconds)} (treewidth {width})"
    return "exact", f"exact: the partition function is cheap here (treewidth {width})"


def choose_engine(model: Model, row: Row, prior: Prior, asked: str | None, walk: str) -> str:
    """How draws are made of the method; ``walk`` names a setting that only a random walk has."""
    # Planar fields have an exact covariance whatever their size, and weighing proposals takes milliseconds.
    most = DENSE_PARAMETERS if model.n_parameters > DENSE_LIMIT and sees_windows(model) else DENSE_LIMIT
    possible = [
        name
        for name in row.engines
        if (name != "independence" or (prior.custom is None and 0 < model.n_parameters <= most))
        and (name != "hmc" or (prior.custom is None and model.n_parameters > 0))  # it needs derivatives
    ]
    usual = possible
    if is_dense(model) and "hmc" in possible and moments_cost(model) >= MOMENT_CELLS:
        usual = [name for name in possible if name != "independence"]  # by particles, proposals fit too badly here
    chosen = usual[-1] if asked is None else asked
    if chosen not in possible:
        raise InputError(
            f"engine = {asked!r} is not available for method {row.key!r} with prior {prior}: choose one of "
            f"{', '.join(map(repr, possible))}."
        )
    if not walk or chosen == "mh" or (chosen == "hmc" and walk == "start="):
        return chosen
    if asked is None and "mh" in possible:
        return "mh"
    way = "engine='mh'" if "mh" in possible else "another method"
    raise InputError(
        f"{walk} is for a random walk, and method {row.key!r} by engine {chosen!r} has none: leave it out, or use "
        f"{way}."
    )
