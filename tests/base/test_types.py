"""Arrays that kernels write to are copied for every user of a view; all others are shared."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.base.types import Workspace, with_own_workspace


class Inner(NamedTuple):
    table: np.ndarray
    buffer: Workspace


class Outer(NamedTuple):
    counts: np.ndarray
    work: Workspace
    inner: Inner
    n: float


def test_only_workspaces_are_copied_also_in_nested_views():
    view = Outer(np.arange(3.0), np.zeros(4), Inner(np.eye(2), np.ones(5)), 7.0)
    own = with_own_workspace(view)
    assert own.counts is view.counts
    assert own.inner.table is view.inner.table
    assert own.n == 7.0
    own.work[:] = 5.0
    own.inner.buffer[:] = 6.0
    np.testing.assert_array_equal(view.work, np.zeros(4))
    np.testing.assert_array_equal(view.inner.buffer, np.ones(5))
    assert isinstance(own.inner, Inner)
