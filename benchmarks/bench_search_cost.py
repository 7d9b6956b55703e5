"""Processor seconds of searches beside those that `mrfbayes info` predicts for ``--select`` and ``--group``.

python benchmarks/bench_search_cost.py [--out benchmarks/results/search_cost.md]
"""

import argparse
import platform
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from bench_select_items import answers

import mrfbayes as mb
from mrfbayes.structure.running import search_seconds


def sources() -> dict[str, mb.Data]:
    """Real data, and 17 five-level items with missing cells in two groups without a difference."""
    items = pd.DataFrame(answers()).add_prefix("item ")
    items["group"] = np.where(np.random.default_rng(3).random(len(items)) < 0.45, "clinic", "community")
    tables = {"17 five-level items": items}
    for name, found in (("boredom", mb.datasets.load_boredom()), ("ADHD", mb.datasets.load_adhd())):
        text = f"{name}, {len(found.nodes)} items of {found.states} levels"
        tables[text] = pd.DataFrame(found.x, columns=list(found.nodes)).assign(group=found.group)
    return {name: mb.Data(table, group="group") for name, table in tables.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/search_cost.md"))
    place = parser.parse_args().out
    warnings.simplefilter("ignore", mb.MRFWarning)
    lines = [
        "# Predicted and measured seconds of searches\n",
        f"`python benchmarks/bench_search_cost.py`, mrfbayes {mb.__version__}, Python {platform.python_version()};",
        "processor seconds of one process, the panel of priors and the evidence of no difference included.\n",
        "| data | option | predicted s | measured s | measured / predicted | sweeps per chain |",
        "|---|---|---|---|---|---|",
    ]
    for name, data in sources().items():
        model = mb.Model.from_data(data)
        searches = {"--select": (mb.select, "sensitivity", 1), "--group": (mb.compare_groups, "no_difference", 2)}
        for option, (search, more, groups) in searches.items():
            search(model, data, draws=20, warmup=20, progress=False)  # compiled before anything is timed
            started = time.process_time()
            result = search(model, data, rng=1, progress=False)
            getattr(result, more)(progress=False)
            seconds, predicted = time.process_time() - started, search_seconds(model, groups)
            ratio = f"{predicted:.1f} | {seconds:.1f} | {seconds / predicted:.2f}"
            lines.append(f"| {name} | `{option}` | {ratio} | {result.steps:,} |")
            print(lines[-1], flush=True)
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
