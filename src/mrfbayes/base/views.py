"""What compiled code is given: a NamedTuple of arrays and numbers, whose type tells Numba which kernel to take.

A view is shared by chains and threads. The arrays that kernels write to are annotated as `Workspace`, and whoever runs
a kernel first takes `with_own_workspace`: evaluation is re-entrant, because nothing that is written to is shared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self, TypeAlias, TypeVar

import numpy as np

Workspace: TypeAlias = np.ndarray  # the annotation of a view's field that kernels write to


class View(Protocol):
    """Any such NamedTuple."""

    @property
    def _replace(self) -> Callable[..., Self]:
        """Makes one with some of its parts replaced."""


AnyView = TypeVar("AnyView", bound=View)


def with_own_workspace(view: AnyView) -> AnyView:
    """``view`` with copies of all arrays that kernels write to, in nested views as well; the others are shared."""
    parts: dict[str, object] = {}
    for name, kind in type(view).__annotations__.items():
        part = getattr(view, name)
        if getattr(kind, "__forward_arg__", kind) == "Workspace":  # annotations are texts in all files of views
            parts[name] = part.copy()
        elif hasattr(part, "_fields"):
            parts[name] = with_own_workspace(part)
    return view._replace(**parts)
