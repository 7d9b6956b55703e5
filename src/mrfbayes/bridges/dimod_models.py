"""Binary fields as dimod's binary quadratic models, and back: the energy is -T log p, but for a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import require_package
from mrfbayes.base.errors import InputError
from mrfbayes.base.types import ThetaLike
from mrfbayes.bridges.scales import to_ising
from mrfbayes.model.build import graph
from mrfbayes.model.field import Model
from mrfbayes.model.ising import Ising

if TYPE_CHECKING:
    from dimod import BinaryQuadraticModel


def to_dimod(model: Model, theta: ThetaLike, temperature: float = 1.0) -> BinaryQuadraticModel:
    """Return a binary field as a `dimod.BinaryQuadraticModel` of spins.

    Parameters
    ----------
    model : Model
        A binary field.
    theta : (p,) array_like, float or Ising
        Parameters in the order of ``model.parameters``.
    temperature : float, default 1
        T: probabilities are proportional to exp(-energy / T).

    Returns
    -------
    dimod.BinaryQuadraticModel
        The energy.

    See Also
    --------
    from_dimod : The other direction.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> from mrfbayes.bridges import to_dimod
    >>> float(to_dimod(mb.graph([("a", "b")]), mb.Ising(0.5)).get_quadratic("a", "b"))
    -0.5
    """
    require_package("dimod", "interop", "to_dimod")
    import dimod

    if not (isinstance(temperature, (int, float)) and temperature > 0):
        raise InputError(f"temperature = {temperature!r}: must be a positive number.")
    ising, nodes = to_ising(model, theta), model.nodes
    coupling, field = -temperature * np.asarray(ising.coupling), -temperature * np.asarray(ising.field)
    linear = dict(zip(nodes, field.tolist(), strict=True))
    quadratic = {(nodes[u], nodes[v]): float(coupling[u, v]) for u, v in model.edges.tolist()}
    return dimod.BinaryQuadraticModel(linear, quadratic, 0.0, dimod.SPIN)


def from_dimod(bqm: BinaryQuadraticModel, temperature: float = 1.0) -> tuple[Model, np.ndarray]:
    """Return a binary quadratic model as a field of agreement couplings with node factors.

    Parameters
    ----------
    bqm : dimod.BinaryQuadraticModel
        The energy. Spins -1 and +1, or variables 0 and 1, are states 0 and 1.
    temperature : float, default 1
        T: probabilities are proportional to exp(-energy / T).

    Returns
    -------
    model : Model
        The field.
    theta : (p,) ndarray
        Its parameters.

    See Also
    --------
    to_dimod : The other direction.

    Examples
    --------
    >>> import dimod
    >>> from mrfbayes.bridges import from_dimod
    >>> model, theta = from_dimod(dimod.BinaryQuadraticModel({}, {("a", "b"): -0.5}, "SPIN"))
    >>> model.n_edges
    1
    """
    spins = bqm.spin
    names = [str(name) for name in spins.variables]
    if len(set(names)) < len(names):
        raise InputError("bqm: two variables have the same name when written as text.")
    if not names:
        raise InputError("bqm has no variables.")
    pairs = [(str(u), str(v)) for u, v in spins.quadratic]
    model = graph(np.array(pairs, dtype=object).reshape(-1, 2), nodes=names, fields=True)
    coupling = {pair: -float(value) for pair, value in zip(pairs, spins.quadratic.values(), strict=True)}
    field = {str(name): -float(value) for name, value in spins.linear.items()}
    return model, Ising(coupling, field, temperature).as_theta(model)
