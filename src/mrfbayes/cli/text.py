"""Text that came from outside, made harmless for a terminal."""

from __future__ import annotations

from mrfbayes.base.plain_text import visible as safe

__all__ = ["safe"]
