"""Values of the data as states 0..r-1."""

from __future__ import annotations

Labels = tuple[tuple[object, ...] | None, ...]
