"""Runs the R lines of docs/coming_from/r_users.md with the R of this machine; compares what they find with Python's.

    python tests/r_page.py --out benchmarks/results/r_page.md

Needs R with reticulate and qgraph (apt-get install r-base-core r-cran-reticulate r-cran-qgraph). The environment that
the page makes first is the one that runs this script instead.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import mrfbayes as mb
from mrfbayes import bridges

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coming_from" / "r_users.md"
LAST_LINES = """
write.csv(as.matrix(weights), "weights.csv")
write.csv(as_r(post$edges(scale = "log-odds")), "edges.csv")
two <- list(a = answers, b = answers[1:200, ])
many <- mb$sample_many(model, two, prior = "normal(0, 1)", draws = 400L, progress = FALSE)
stopifnot(length(many$failures) == 0)
shown <- function(name) paste(name, packageVersion(name))
cat(R.version.string, shown("reticulate"), shown("qgraph"), sep = "; ")
"""


def script() -> str:
    """The page's R blocks as one script; the environment is this one."""
    create, use = re.findall(r"```r\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert 'virtualenv_create("mrf", packages = "mrfbayes")' in create
    here = f'use_python("{sys.executable}", required = TRUE)'
    assert 'use_virtualenv("mrf")' in use
    return str(use.replace('use_virtualenv("mrf")', here) + LAST_LINES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    adhd = mb.datasets.load_adhd()
    answers = pd.DataFrame(adhd.x[:, :5], columns=adhd.nodes[:5])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        answers.to_csv(folder / "answers.csv", index=False)
        (folder / "page.R").write_text(script(), encoding="utf-8")
        done = subprocess.run(["Rscript", "page.R"], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        weights = pd.read_csv(folder / "weights.csv", index_col=0)
        edges = pd.read_csv(folder / "edges.csv", index_col=0)
    model = mb.complete(list(answers.columns), fields=True, coupling="both-one")
    post = mb.sample(model, answers, prior="normal(0, 1)", progress=False)
    mine = bridges.weight_table(post, only="present")
    assert list(weights.columns) == list(mine.columns)
    assert np.allclose(weights, mine, rtol=1e-12)
    assert list(edges["verdict"]) == list(post.edges(scale="log-odds")["verdict"])
    versions = done.stdout.strip().splitlines()[-1]
    lines = [
        "python tests/r_page.py --out benchmarks/results/r_page.md",
        "",
        f"- {versions}: the lines of docs/coming_from/r_users.md ran; weights and verdicts are those of Python.",
    ]
    print("\n".join(lines))
    if arguments.out is not None:
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
