"""A target density as an `Op` of PyTensor with its gradient, for models of PyMC."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import require_package
from mrfbayes.base.errors import InputError

if TYPE_CHECKING:
    from pytensor.graph.basic import Apply as Node
    from pytensor.graph.op import Op as Operation
    from pytensor.tensor import TensorVariable

    from mrfbayes.targets.targets import Target


def log_density(target: Target) -> Operation:
    """The log posterior density of w (p,) as an `Op`: call it with a vector, and give it to ``pymc.Potential``.

    Parameters
    ----------
    target : Target
        From `mrfbayes.target`, with a gradient.

    Returns
    -------
    pytensor.graph.op.Op
        From w (p,) to a scalar.

    Raises
    ------
    InputError
        Where PyTensor is not installed, or the target has no gradient.

    See Also
    --------
    mrfbayes.target : Makes the target.
    mrfbayes.bridges.jax.log_density : The same for JAX, NumPyro and BlackJAX.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> import mrfbayes as mb
    >>> from mrfbayes.bridges.pytensor import log_density
    >>> density = log_density(mb.target(mb.grid(1, 2), [[0, 0], [1, 1], [0, 1]]))
    >>> round(float(density(pt.zeros(1)).eval()), 6)
    -5.545177
    """
    require_package("pytensor", "pymc", "log_density")
    import pytensor.tensor as pt
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op

    if not target.has_gradient:
        raise InputError(f"target = {target!r} has no gradient: use method='exact' or 'pseudo' with a named prior.")

    def evaluate(w: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            return target.value_and_gradient(w)
        except ArithmeticError:  # too few digits there: not a place to go to
            return -np.inf, np.zeros(target.dim)

    class Gradient(Op):  # type: ignore[misc]
        """The gradient (p,)."""

        def make_node(self, w: object) -> Node:
            return Apply(self, [pt.as_tensor(w, dtype="float64")], [pt.dvector()])

        def perform(self, node: Node, inputs: list[np.ndarray], outputs: list[list[np.ndarray]]) -> None:
            outputs[0][0] = evaluate(inputs[0])[1]

    class Density(Op):  # type: ignore[misc]
        """The value, a scalar."""

        def make_node(self, w: object) -> Node:
            return Apply(self, [pt.as_tensor(w, dtype="float64")], [pt.dscalar()])

        def perform(self, node: Node, inputs: list[np.ndarray], outputs: list[list[np.ndarray]]) -> None:
            outputs[0][0] = np.asarray(evaluate(inputs[0])[0])

        def grad(self, inputs: list[TensorVariable], upstream: list[TensorVariable]) -> list[TensorVariable]:
            return [upstream[0] * Gradient()(inputs[0])]

    return Density()
