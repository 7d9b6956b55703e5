"""``mrfbayes info``: what a file holds and what is feasible, before anything is computed."""

from __future__ import annotations

import math

from mrfbayes.cli.answers import print_json, say
from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.options import Common, DataOptions

WITH_MISSING = {
    "refuse": "Rows with missing cells are refused unless --missing is drop or model.",
    "drop": "Rows with missing cells are left out.",
    "model": "Rows with missing cells are modelled, as missing at random, by exact, calibrated or langevin.",
}

OUT_OF_REACH = (
    "No method is within reach: choose fewer columns (--columns, --without), a sparser graph (--graph), or --tied yes."
)


@grouped
def info(data: DataOptions, common: Common) -> None:
    """Say what a file holds, what its model costs by each method, and what is recommended; nothing is computed."""
    import mrfbayes as mb
    from mrfbayes.base.memory import describe_bytes
    from mrfbayes.cli.defaults import suggested_field
    from mrfbayes.exact.cost import describe_seconds
    from mrfbayes.posterior.auto import choose_method

    given = suggested_field(data)
    if any(" missing, in " in line for line in given.lines):
        given.lines.append(WITH_MISSING.get(data.reading.missing, ""))
    cost = mb.cost(given.model)
    method, why = choose_method(given.model)
    why = why.partition(": ")[2] or why
    seconds = cost.methods[method]
    if common.json:
        print_json(
            {
                "about": given.lines,
                "treewidth": cost.treewidth,
                "exact_is_feasible": cost.feasible,
                "seconds_of_1000_steps": dict(cost.methods),
                "bytes": {name: work.n_bytes for name, work in cost.work.items()},
                "recommended": method if math.isfinite(seconds) else None,
                "because": why if math.isfinite(seconds) else OUT_OF_REACH,
            }
        )
        return
    size = describe_bytes(cost.work["log_partition"].n_bytes)
    feasible = f"feasible: treewidth {cost.treewidth}, {size}" if cost.feasible else "out of reach"
    say(
        [
            *given.lines,
            f"The exact likelihood is {feasible}.",
            "",
            str(cost),
            "",
            f"Recommended: --method {method}, about {describe_seconds(seconds)} for 1,000 steps: {why}."
            if math.isfinite(seconds)
            else OUT_OF_REACH,
        ]
    )
