"""The few contracts that a method's kernel may fulfil, dispatched on the type of the method's view.

A *view* is a NamedTuple of arrays and scalars that belongs to one method. The generic chain calls
``log_likelihood(view, theta)`` and Numba picks the kernel by the view's type at compile time: as fast as inlined
code, and the compiled chain can be cached on disk, which functions passed as arguments cannot.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.extending import overload

_KERNELS: dict[str, dict[str, Callable[..., Any]]] = {}
_VIEWS: dict[str, type] = {}


def dispatched(contract: Callable[..., Any], otherwise: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Make ``contract`` run the kernel of its view, interpreted and compiled; views without one get ``otherwise``."""
    name = contract.__name__

    @functools.wraps(contract)
    def run(view: Any, *others: Any) -> Any:
        kernel = _KERNELS.get(name, {}).get(type(view).__name__, otherwise)
        if kernel is None:
            raise TypeError(f"no kernel implements {name!r} for {type(view).__name__}")
        return kernel(view, *others)

    @overload(run)
    @functools.wraps(contract)
    def choose(view: Any, *others: Any) -> Callable[..., Any] | None:
        # Views whose fields share one type are NamedUniTuples: both derive from BaseNamedTuple.
        if not isinstance(view, types.BaseNamedTuple):
            return None
        view_class: Any = getattr(view, "instance_class")  # noqa: B009 (set by Numba's subclasses)
        kernel = _KERNELS.get(name, {}).get(view_class.__name__, otherwise)
        return getattr(kernel, "py_func", kernel)

    return run


@dispatched
def log_likelihood(view, theta):
    """Log-likelihood of ``theta`` (p,), up to a constant that does not depend on it."""


def _at_theta(view, log_odds, theta):
    for j in range(theta.size):
        if not (theta[j] > 0.0 and theta[j] < 1.0):
            return -math.inf
    return log_likelihood(view, theta)


@functools.partial(dispatched, otherwise=_at_theta)
def log_likelihood_w(view, log_odds, theta):
    """Log-likelihood at the log-odds w (p,), up to the same constant; ``theta`` (p,) is the same point as theta.

    Minus infinity where it cannot be computed. A method that has no kernel for it is evaluated at theta, which is
    possible as long as no weight is 0 or 1 to the last digit.
    """


@dispatched
def log_likelihood_gradient(view, log_odds, gradient):
    """Log-likelihood at the log-odds w (p,), up to a constant; its derivatives are written to ``gradient`` (p,)."""


@dispatched
def log_ratio(view, theta, proposal, random_state):
    """Log of the likelihood ratio L(proposal) / L(theta) for all n observations, and the variance of its noise.

    That variance is the one of the estimated logarithm, as the particles show it; 0 where nothing is estimated.
    """


def _nothing_on_accept(view, accepted):
    pass


@functools.partial(dispatched, otherwise=_nothing_on_accept)
def on_accept(view, accepted):
    """Called after the decision on the last `log_ratio`; optional, for methods that carry state from step to step."""


def implements(contract: Callable[..., Any], view: type) -> Callable[[Any], Any]:
    """Register the decorated kernel as ``contract`` for views of type ``view``.

    The kernel's arguments must carry the contract's names. Numba identifies a NamedTuple type by its name alone, so
    two views of the same name would silently run the wrong kernel: the second is refused here.
    """
    name = view.__name__
    known = _VIEWS.setdefault(name, view)
    if known is not view:
        raise TypeError(
            f"two views are called {name!r} ({known.__module__} and {view.__module__}): rename one, "
            "or Numba would run the kernel of the first for both"
        )
    rows = _KERNELS.setdefault(contract.__name__, {})
    if name in rows:
        raise TypeError(f"{contract.__name__!r} is already implemented for {name!r}")

    def register(kernel: Any) -> Any:
        rows[name] = kernel
        return kernel

    return register
