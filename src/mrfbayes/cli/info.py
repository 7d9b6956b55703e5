"""``mrfbayes info``: what a file holds and what is feasible, before anything is computed."""

from __future__ import annotations

import math

from mrfbayes.cli.answers import print_json, say
from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.options import Common, DataOptions

OUT_OF_REACH = (
    "No method is within reach: choose fewer columns (--columns, --drop), a sparser graph (--graph), or --tied yes."
)


@grouped
def info(data: DataOptions, common: Common) -> None:
    """Say what a file holds, what its model costs by each method, and what is recommended; nothing is computed."""
    import mrfbayes as mb
    from mrfbayes.base.memory import describe_bytes
    from mrfbayes.cli.field import data_field, read_data
    from mrfbayes.cli.show import show_data, show_model
    from mrfbayes.engines.auto import choose_method
    from mrfbayes.exact.cost import describe_seconds

    observed = read_data(data)
    model = data_field(data, observed)
    cost = mb.cost(model)
    method, why = choose_method(model)
    why = why.partition(": ")[2] or why
    seconds = cost.methods[method]
    if common.json:
        print_json(
            {
                "about": repr(observed),
                "variables": observed.variables.reset_index().to_dict(orient="records"),
                "model": repr(model),
                "warnings": list(observed.warnings),
                "notes": list(observed.notes),
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
    show_data(observed)
    show_model(model)
    say(
        [
            f"The exact likelihood is {feasible}.",
            "",
            str(cost),
            "",
            f"Recommended: --method {method}, about {describe_seconds(seconds)} for 1,000 steps: {why}."
            if math.isfinite(seconds)
            else OUT_OF_REACH,
        ]
    )
