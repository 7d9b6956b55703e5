"""The few contracts that a method's kernel may fulfil, dispatched on the type of the method's view.

A *view* is a NamedTuple of arrays and scalars that belongs to one method. The generic chain calls
``log_likelihood(view, theta)`` and Numba picks the kernel by the view's type at compile time: as fast as inlined
code, and the compiled chain can be cached on disk, which functions passed as arguments cannot.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.extending import overload

_KERNELS: dict[str, dict[str, Callable[..., Any]]] = {}
_VIEWS: dict[str, type] = {}


def _kernel_of(contract: str, view: Any) -> Callable[..., Any]:
    try:
        return _KERNELS[contract][type(view).__name__]
    except KeyError:
        raise TypeError(f"no kernel implements {contract!r} for {type(view).__name__}") from None


def log_likelihood(view, theta):
    """Log-likelihood of ``theta`` (p,), up to a constant that does not depend on it."""
    return _kernel_of("log_likelihood", view)(view, theta)


def log_likelihood_w(view, log_odds, theta):
    """Log-likelihood at the log-odds w (p,), up to the same constant; ``theta`` (p,) is the same point as theta.

    Minus infinity where it cannot be computed. A method that has no kernel for it is evaluated at theta, which is
    possible as long as no weight is 0 or 1 to the last digit.
    """
    return _KERNELS.get("log_likelihood_w", {}).get(type(view).__name__, _at_theta)(view, log_odds, theta)


def _at_theta(view, log_odds, theta):
    for j in range(theta.size):
        if not (theta[j] > 0.0 and theta[j] < 1.0):
            return -math.inf
    return log_likelihood(view, theta)


def log_likelihood_gradient(view, log_odds, gradient):
    """Log-likelihood at the log-odds w (p,), up to a constant; its derivatives are written to ``gradient`` (p,)."""
    return _kernel_of("log_likelihood_gradient", view)(view, log_odds, gradient)


def log_ratio(view, theta, proposal, random_state):
    """Log of the likelihood ratio L(proposal) / L(theta) for all n observations, and the variance of its noise.

    That variance is the one of the estimated logarithm, as the particles show it; 0 where nothing is estimated.
    """
    return _kernel_of("log_ratio", view)(view, theta, proposal, random_state)


def on_accept(view, accepted):
    """Called after the decision on the last `log_ratio`; optional, for methods that carry state from step to step."""
    return _KERNELS.get("on_accept", {}).get(type(view).__name__, _nothing_on_accept)(view, accepted)


def _nothing_on_accept(view, accepted):
    pass


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


def _body(contract: str, view: Any) -> Callable[..., Any] | None:
    # Views whose fields share one type are NamedUniTuples: both derive from BaseNamedTuple.
    if not isinstance(view, types.BaseNamedTuple):
        return None
    view_class: Any = getattr(view, "instance_class")  # noqa: B009 (set by Numba's subclasses)
    kernel = _KERNELS.get(contract, {}).get(view_class.__name__)
    return getattr(kernel, "py_func", kernel)


@overload(log_likelihood)
def _choose_log_likelihood(view, theta):
    return _body("log_likelihood", view)


@overload(log_likelihood_w)
def _choose_log_likelihood_w(view, log_odds, theta):
    return _body("log_likelihood_w", view) or _at_theta


@overload(log_likelihood_gradient)
def _choose_log_likelihood_gradient(view, log_odds, gradient):
    return _body("log_likelihood_gradient", view)


@overload(log_ratio)
def _choose_log_ratio(view, theta, proposal, random_state):
    return _body("log_ratio", view)


@overload(on_accept)
def _choose_on_accept(view, accepted):
    return _body("on_accept", view) or _nothing_on_accept
