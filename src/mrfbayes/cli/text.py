"""Text that came from outside, made harmless for a terminal."""

from __future__ import annotations


def safe(text: str) -> str:
    """``text`` with control characters shown instead of obeyed (names may hold terminal escapes)."""
    return "".join(c if c.isprintable() or c == " " else f"\\x{ord(c):02x}" for c in text)
