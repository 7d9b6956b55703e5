"""``mrfbayes cost``: what exact inference on a field takes."""

from __future__ import annotations

from dataclasses import asdict

import typer

from mrfbayes.cli.answers import print_json
from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.options import Common, FieldOptions


@grouped
def cost(field: FieldOptions, common: Common) -> None:
    """Say what exact inference on a field would cost, before anything is run."""
    import mrfbayes as mb
    from mrfbayes.cli.field import build_field

    found = mb.cost(build_field(field))
    if common.json:
        work = {name: asdict(one) for name, one in found.work.items()}
        facts = {"recursion": found.recursion, "treewidth": found.treewidth, "feasible": found.feasible}
        print_json({**facts, "work": work, "seconds_of_1000_steps": dict(found.methods), "limit_bytes": found.limit})
    else:
        typer.echo(str(found))
