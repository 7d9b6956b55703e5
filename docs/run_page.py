"""Run the Python blocks of a page and write what they print into the text blocks that follow them.

    python docs/run_page.py docs/six_nodes.md          # rewrites the page and the pictures that its code saves
    python docs/run_page.py --check docs/six_nodes.md  # says which block differs

A block fenced as ``python`` may be followed by one fenced as ``text``: its output. Blocks share their variables.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import warnings
from pathlib import Path

BLOCK = re.compile(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", re.DOTALL)
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def outputs(text: str) -> list[tuple[str, str, str]]:
    """(code, stated output, output now) of every Python block."""
    space: dict[str, object] = {}
    found = []
    for match in BLOCK.finditer(text):
        code, stated = match.group(1), match.group(2) or ""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(code, "<page>", "exec"), space)
        found.append((code, stated, "".join(line.rstrip() + "\n" for line in printed.getvalue().splitlines())))
    return found


def same(stated: str, now: str, tolerance: float = 0.02) -> bool:
    """Whether two outputs agree: the same words, numbers within ``tolerance`` (relative, or absolute below one)."""
    if NUMBER.sub("#", stated).split() != NUMBER.sub("#", now).split():
        return False
    pairs = zip(NUMBER.findall(stated), NUMBER.findall(now), strict=True)
    return all(abs(float(a) - float(b)) <= tolerance * max(1.0, abs(float(a))) for a, b in pairs)


def rewritten(text: str) -> str:
    """The page with the outputs of now."""
    results = iter(outputs(text))

    def replace(match: re.Match[str]) -> str:
        code, _, now = next(results)
        return f"```python\n{code}```" + (f"\n\n```text\n{now}```" if now else "")

    return BLOCK.sub(replace, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    text = arguments.page.read_text(encoding="utf-8")
    os.chdir(arguments.page.parent)
    if not arguments.check:
        Path(arguments.page.name).write_text(rewritten(text), encoding="utf-8")
        return 0
    bad = [code for code, stated, now in outputs(text) if not same(stated, now)]
    for code in bad:
        print(f"differs now:\n{code}", file=sys.stderr)
    return int(bool(bad))


if __name__ == "__main__":
    raise SystemExit(main())
