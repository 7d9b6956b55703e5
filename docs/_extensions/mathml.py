"""Formulas as MathML, which browsers draw themselves: no script, no fonts, no network."""

from __future__ import annotations

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

# What docutils reads otherwise than TeX does: \frac12 as twelve over what follows, \hat x_j with j under x.
MISREAD = re.compile(r"frac\s*\d|\\hat\s*(?:\\\w+|\w|\{[^{}]*\})\}*_")

# Between a function and its argument, unless that stands in parentheses; browsers leave no space there.
APPLIED = re.compile(r"<mo>&ApplyFunction;</mo>(?!\s*<mo[^>]*>\()")
THIN = "0.167em"


def checked(formula: str) -> str:
    """The formula, if docutils understands it as TeX does."""
    found = MISREAD.search(formula)
    if found:
        raise ValueError(f"write braces around both parts: {found.group()!r} in the formula {formula!r}")
    return formula


def drawn(formula: str, as_block: bool = False) -> str:
    """The formula as MathML."""
    found = tex2mathml(checked(formula), as_block=as_block)
    return APPLIED.sub(f'<mo rspace="{THIN}">&ApplyFunction;</mo>', found)


def inline(writer: HTML5Translator, node: nodes.math) -> None:
    writer.body.append(drawn(node.astext()))
    raise nodes.SkipNode


def block(writer: HTML5Translator, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{drawn(node.astext(), as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
