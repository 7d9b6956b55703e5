"""Which distribution each block of parameters has, from what users give and by default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.model.distributions import Cauchy, Distribution, Exchangeable, Logistic, Normal, Uniform, parse
from mrfbayes.model.factors import ParameterKind

if TYPE_CHECKING:
    from mrfbayes.base.types import DistributionLike, PriorLike
    from mrfbayes.model.field import Model

DEFAULT_COUPLING, DEFAULT_THRESHOLD = Normal(0.0, 1.0), Normal(0.0, 10.0)
DEFAULT_EFFECT = Normal(0.0, 1.0)  # of a covariate, as of the difference between two groups


def by_part(given: PriorLike | None) -> dict[str, DistributionLike]:
    """Return a prior as a mapping from "edges", "nodes" and blocks.

    Parameters
    ----------
    given : PriorLike
        Description of the prior; one distribution is that of the couplings.

    Returns
    -------
    dict
        Distributions by part.

    See Also
    --------
    default_prior : The priors of both parts.

    Examples
    --------
    >>> from mrfbayes import priors
    >>> priors.by_part("normal(0, 1)")
    {'edges': 'normal(0, 1)'}
    """
    if isinstance(given, Mapping):
        return dict(given)
    given = cast("DistributionLike | None", given)
    is_uniform = isinstance(given, Uniform) or str(given).strip().lower() == "uniform"
    return {} if given is None else {"edges": given, "nodes": given} if is_uniform else {"edges": given}


def scaled_to(given: Distribution, kind: ParameterKind) -> Distribution:
    """Return the distribution of blocks of one kind that a distribution of all couplings or thresholds implies.

    Parameters
    ----------
    given : Distribution
        The distribution of all couplings, or of all thresholds.
    kind : ParameterKind
        Kind of the blocks.

    Returns
    -------
    Distribution
        The distribution scaled by the numbers of levels.

    See Also
    --------
    default_prior : The prior of each kind of parameter.

    Examples
    --------
    >>> from mrfbayes import priors
    >>> from mrfbayes.model.factors import ParameterKind
    >>> priors.scaled_to(priors.Normal(0, 1), ParameterKind("score", 0.125, (1, 1)))  # two items of five levels
    Normal(location=0.0, scale=0.125)
    """
    if isinstance(given, Exchangeable):
        given = given if kind.shape != (1, 1) else Normal(0.0, given.scale)
    elif isinstance(given, Normal) and given.location == 0.0 and kind.shape != (1, 1) and kind.kind != "other":
        return Exchangeable(given.scale)
    if isinstance(given, (Normal, Cauchy, Logistic)) and kind.kind == "score" and kind.scale != 1.0:
        given.encode(kind.shape)  # refuses it as it was given, not as it is scaled
        return type(given)(given.location * kind.scale, given.scale * kind.scale)
    return given


def default_prior(kind: ParameterKind, is_agreement: bool = False) -> Distribution:
    """Return the default prior of blocks of one kind.

    Parameters
    ----------
    kind : ParameterKind
        Kind of the blocks.
    is_agreement : bool, default False
        Whether the model has agreement couplings.

    Returns
    -------
    Distribution
        The prior that "default" is for these blocks.

    See Also
    --------
    scaled_to : The scale for a number of levels.
    Prior : The prior of a model.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> str(mb.priors.Prior(mb.graph([("a", "b")], coupling="both-one"), "default"))
    'normal(0, 1)'
    """
    if kind.kind in ("agreement", "other") or (kind.kind == "threshold" and is_agreement):
        return Uniform()
    return scaled_to(DEFAULT_THRESHOLD if kind.kind == "threshold" else DEFAULT_COUPLING, kind)


def _by_kind(
    model: Model, edges: Distribution | None, nodes: Distribution | None, effects: Distribution | None = None
) -> list[Distribution]:
    """A distribution per block from those of all couplings, thresholds, effects of covariates; None: the default."""
    made = np.empty(model.chart.n_blocks, dtype=object)
    kinds = [group.kind for group in model.groups]
    is_agreement = not {kind.kind for kind in kinds} & {"score", "table"}
    for group, kind in zip(model.groups, kinds, strict=True):
        given = edges if group.arity == 2 else nodes
        if group.block.size and group.block.min() >= model.field.chart.n_blocks:
            given = effects or DEFAULT_EFFECT
        made[group.block] = default_prior(kind, is_agreement) if given is None else scaled_to(given, kind)
    return made.tolist()


def _distribution(given: object, argument: str) -> Distribution | None:
    """A distribution as it may be given; None for "default"."""
    if isinstance(given, str):
        return None if given.strip().lower() == "default" else parse(given, argument)
    if not isinstance(given, Distribution):
        raise InputError(f"{argument} = {given!r}: give 'default', a name such as 'normal(0, 1)', or a distribution.")
    return given


def distributions_by_block(model: Model, given: object) -> list[Distribution]:
    """The distribution of every block, in the order of ``model.blocks``."""
    if isinstance(given, (str, Distribution)):
        found = _distribution(given, "prior")
        others = found if isinstance(found, Uniform) else None
        return _by_kind(model, found, others, others)
    if isinstance(given, (list, tuple)):
        if len(given) != model.chart.n_blocks:
            raise InputError(f"prior: a list of {len(given)} distributions for {model.chart.n_blocks} blocks.")
        made = [parse(entry) if isinstance(entry, str) else entry for entry in given]
        if strange := [entry for entry in made if not isinstance(entry, Distribution)]:
            raise InputError(f"prior: {strange[0]!r} in the list is not a distribution, such as 'normal(0, 1)'.")
        return made
    if not isinstance(given, Mapping):
        raise InputError(
            f"prior = {given!r}: give 'default', a name such as 'normal(0, 1)', a distribution, a mapping or a cfunc."
        )
    table = {str(key): _distribution(value, f"prior[{key!r}]") for key, value in given.items()}
    parts = ("edges", "nodes", "effects")
    if both := [key for key in parts if key in table and key in model.nodes and key in model.blocks]:
        what = f"a node is called {both[0]!r}, too, so it is not clear which is meant"
        raise InputError(f"prior[{both[0]!r}]: {what}; rename the node.")
    unknown = set(table) - set(parts) - set(model.blocks)
    if unknown:
        raise InputError(
            f"prior: no block is called {sorted(unknown)[0]!r}; use 'edges', 'nodes', 'effects' or one of model.blocks."
        )
    made = _by_kind(model, *(table.pop(key, None) for key in parts))
    place = {name: block for block, name in enumerate(model.blocks)} if table else {}
    for name, distribution in table.items():
        if distribution is not None:
            made[place[name]] = distribution
    return made
