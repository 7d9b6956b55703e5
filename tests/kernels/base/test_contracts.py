"""Contracts: the kernel is found by the type of the view, with and without the JIT."""

import math
from typing import NamedTuple

import numba
import numpy as np
import pytest

from mrfbayes.kernels.base import contracts
from mrfbayes.kernels.base.contracts import implements, log_likelihood, log_likelihood_w, log_ratio, on_accept


class SumView(NamedTuple):
    scale: float


class ProductView(NamedTuple):
    scale: float


@pytest.fixture
def registered(monkeypatch):
    """Two views with a likelihood each; the second also has one in log-odds. The registry is put back afterwards."""
    monkeypatch.setattr(contracts, "_KERNELS", {name: dict(rows) for name, rows in contracts._KERNELS.items()})
    monkeypatch.setattr(contracts, "_VIEWS", dict(contracts._VIEWS))
    implements(log_likelihood, SumView)(lambda view, theta: view.scale * theta.sum())
    implements(log_likelihood, ProductView)(lambda view, theta: view.scale * theta.prod())
    implements(log_likelihood_w, ProductView)(lambda view, log_odds, theta: log_odds[0])


def both(view, log_odds, theta):
    return log_likelihood(view, theta), log_likelihood_w(view, log_odds, theta)


@pytest.mark.parametrize("run", [both, numba.njit(both)], ids=["python", "compiled"])
def test_the_view_chooses_the_kernel(registered, run):
    log_odds, theta = np.array([-1.0, 2.0]), np.array([0.25, 0.5])
    assert run(SumView(2.0), log_odds, theta) == (1.5, 1.5)  # in log-odds as at theta, for want of a kernel
    assert run(ProductView(2.0), log_odds, theta) == (0.25, -1.0)
    at_one = np.array([1.0, 0.5])
    assert run(SumView(2.0), log_odds, at_one) == (3.0, -math.inf)
    assert run(ProductView(2.0), log_odds, at_one) == (1.0, -1.0)


def test_a_missing_kernel_is_named_and_accepting_is_optional(registered):
    with pytest.raises(TypeError, match=r"'log_ratio' for SumView"):
        log_ratio(SumView(1.0), np.ones(1), np.ones(1), np.zeros(4, dtype=np.uint64))
    assert on_accept(SumView(1.0), True) is None


def test_two_views_of_one_name_are_refused():
    class TwinView(NamedTuple):
        a: np.ndarray

    first = TwinView
    implements(log_likelihood, first)(lambda view, theta: 0.0)

    class TwinView(NamedTuple):
        a: np.ndarray

    with pytest.raises(TypeError, match="two views are called 'TwinView'"):
        implements(log_likelihood, TwinView)
    with pytest.raises(TypeError, match="already implemented"):
        implements(log_likelihood, first)
    contracts._VIEWS.pop("TwinView")
    contracts._KERNELS["log_likelihood"].pop("TwinView")
