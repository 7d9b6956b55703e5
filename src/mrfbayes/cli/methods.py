"""``mrfbayes methods``: the registry as a table."""

from __future__ import annotations

from mrfbayes.cli.answers import print_json
from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.options import Common


@grouped
def methods(common: Common) -> None:
    """List the methods."""
    from mrfbayes.cli.show import show_methods
    from mrfbayes.engines.registry import engine_names
    from mrfbayes.methods.registry import REGISTRY

    if common.json:
        print_json(
            {
                row.key: {"label": row.label, "target": row.target, "engines": engine_names(row), "about": row.summary}
                for row in REGISTRY.values()
            }
        )
    else:
        show_methods()
