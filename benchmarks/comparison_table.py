"""Regenerate the comparison table of the paper's page: ``make comparison``.

Everything but the seconds follows from the seed; ``tests/test_readme.py`` runs ``mrfbayes demo``, which makes the same
comparison, and compares.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mrfbayes.cli.demo import COMPARISON_COLUMNS, comparison_rows, paper_comparison

PAGE = Path(__file__).resolve().parents[1] / "docs" / "paper.md"
BLOCK = re.compile(r"(<!-- comparison: make comparison -->\n).*?(<!-- end -->)", re.DOTALL)


def markdown(rows: list[list[str]]) -> str:
    """The rows as a Markdown table."""
    lines = [" | ".join(COMPARISON_COLUMNS), " | ".join(["---"] + ["---:"] * (len(COMPARISON_COLUMNS) - 1))]
    lines += [" | ".join(row) for row in rows]
    return "".join(f"| {line} |\n" for line in lines)


def rows_in(text: str) -> list[list[str]]:
    """The rows of the table that the page holds."""
    found = BLOCK.search(text)
    assert found, "the page has no comparison table"
    lines = [line for line in found.group(0).splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def main() -> None:
    """Run the comparison and write its table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    table = markdown(comparison_rows(paper_comparison().table))
    PAGE.write_text(BLOCK.sub(lambda m: m.group(1) + table + m.group(2), text), encoding="utf-8")
    sys.stdout.write(table)


if __name__ == "__main__":
    main()
