"""Numbers and lists as people write them, and the templates that they are written into."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template

RAISED = str.maketrans("0123456789", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    used = (plural, listed, or_none, support, fragility, grid_of, number, decimals, estimate, setting)
    environment.filters |= {function.__name__: function for function in used}
    environment.filters |= {"bf": bayes_factor, "percent": _percent, "count": "{:,.0f}".format}
    text = resources.files("mrfbayes.report").joinpath("sentences.j2").read_text(encoding="utf-8")
    return environment.from_string(text)


def fill(macro: str, *arguments: object) -> list[str]:
    """The lines of a macro of `sentences.j2` that are not empty."""
    lines = str(getattr(_template().module, macro)(*arguments)).splitlines()
    return [" ".join(line.split()) for line in lines if line.strip()]


def plural(count: int, one: str, many: str | None = None) -> str:
    """ "1 edge", "36 edges"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """ "a, b and c", or the first few "and 7 more"; one more is named, which takes no more room."""
    most += len(names) == most + 1
    shown = [name.replace("--", " \u2013 ") for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most:,} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "none"


def or_none(count: int) -> str:
    """ "12", "none"."""
    return f"{count:,}" if count else "none"


def support(said: Mapping[str, int], total: int, thing: str) -> str:
    """What Bayes factors say of so many things, from the number with each verdict; a clause without an end."""
    found = plural(said["present"], thing) if said["present"] else f"no {thing}"
    return (
        f"the data support {found} of {total:,} (Bayes factor above 10), rule out {or_none(said['absent'])} "
        f"(below 1/10), and leave {or_none(said['undecided'])} undecided"
    )


def fragility(fragile: int, more: str) -> str:
    """A clause on verdicts that ``more`` draws could change."""
    they = "it" if fragile == 1 else "them"
    many = plural(fragile, "verdict is", "verdicts are")
    return f"{many} so close to a boundary that more {more} could change {they}"


def grid_of(shape: tuple[int, int]) -> str:
    """ "a 4 x 4 grid", "an 8 x 8 grid"."""
    said = str(shape[0])
    article = "an" if said[0] == "8" or said in ("11", "18") else "a"
    return f"{article} {shape[0]} x {shape[1]} grid"


def without_folder(text: str) -> str:
    """A message about a file with the file's name alone: where it lay is nobody's business who is shown a report."""
    file, mark, rest = text.partition(": ")
    return f"{PurePath(file).name}{mark}{rest}" if mark and "/" in file else text


def number(value: float, digits: int = 2) -> str:
    """A number with a true minus sign, which zero has not; a dash where there is none."""
    if not math.isfinite(value):
        return "\u2013"
    return f"{value:z.{digits}f}".replace("-", "\u2212")


def decimals(sd: float) -> int:
    """Digits behind the point that numbers with that sd need, two to four: one for the sd, one to spare."""
    if not math.isfinite(sd) or sd <= 0:
        return 2
    return min(max(math.floor(1.5 - math.log10(sd)), 2), 4)


def interval(low: float, high: float, digits: int = 2) -> str:
    """ "1.20 to 2.31"."""
    return f"{number(low, digits)} to {number(high, digits)}"


def estimate(row: Mapping[str, float], named: bool = False, more: str = "", value: str = "mean") -> str:
    """ "a 1.20 (90% interval 0.90 to 1.50)" of a row with that value, its ends and its name."""
    digits, mark = decimals(row.get("sd", math.nan)), "" if value == "mean" else f"{value}_"
    ends = interval(row[f"{mark}q5"], row[f"{mark}q95"], digits)
    return f"{row['name']} " * named + f"{number(row[value], digits)} (90% interval {ends}{more})"


def _percent(value: float, digits: int = 0) -> str:
    return f"{value:.{digits}%}"


def setting(value: object) -> str:
    """A setting of a run in a line; nothing where it is empty."""
    if value in ({}, [], (), None, ""):
        return ""
    if isinstance(value, dict) and all(isinstance(one, (int, float, str, type(None))) for one in value.values()):
        return ", ".join(f"{name} {one}" for name, one in value.items() if one is not None)
    return value if isinstance(value, str) else json.dumps(value, default=str)


def bayes_factor(log_bf10: float, is_bound: bool = False) -> str:
    """A Bayes factor from its natural log: "140", "1/23", "above 140" of a bound, a power of ten past 100,000."""
    if not math.isfinite(log_bf10):
        return "\u2013"
    if is_bound:
        return f"above {bayes_factor(log_bf10)}"
    if log_bf10 < -0.005:
        return f"1/{_size(-log_bf10)}"
    return _size(log_bf10)


def _size(log_value: float) -> str:
    exponent = log_value / math.log(10)
    if exponent >= 5:
        power = math.floor(exponent)
        return f"{10 ** (exponent - power):.1f} \u00d7 10{str(power).translate(RAISED)}"
    value = math.exp(log_value)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
