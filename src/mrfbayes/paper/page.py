"""The page that says it all: verdicts, tables, figures, and what is still missing."""

from __future__ import annotations

from mrfbayes.paper import constants as settings
from mrfbayes.paper.claims import NOT, PARTLY, REPRODUCED, UNDECIDED, claims_markdown, judge_all
from mrfbayes.paper.constants import METHODS
from mrfbayes.paper.journal import Store
from mrfbayes.paper.printing import TABLES, replications
from mrfbayes.paper.profiles import PARTS, cells_of
from mrfbayes.paper.results import Results

PAGE = """\
# The simulations of Jie Liu and Hao Zheng, claim by claim

*MLE-induced Likelihood for Markov Random Fields*, Section 3, run with the package's public interface. This page and
everything beside it is written by `make paper` from the records in `results/`; nothing in it was typed by hand but the
reasons. {counts}.

```sh
make paper                                    # this page, tables and figures, from the stored results
make paper-run WORKERS=2                      # runs what is missing; stop it whenever you like, it goes on
mrfbayes reproduce --profile standard --only PART --out paper     # one part of it
```

Parts: {parts}.

Every cell (grid, n, setting, method, replication) is a pure function of its name. {done:,} of the {planned:,} cells of
the profile `standard` are finished; [this table](tables/replications.md) says which. Errors are measured against the
exact posterior from independent calibrated draws, corrected by their weights; its own Monte-Carlo error is a few
thousandths of an sd, against about a hundredth for a chain of 10^6 steps on 4x4. ± is one standard error over
replications; a number without it rests on one. Behind the main rows there are, of 50 replications at n = 100, 500 and
1,000: {replications}.

## Verdicts

{claims}
The printed equation (13) is upside down: it estimates the inverse of the ratio that it stands for. AuxVar here is its
inverse.

## Run times

{table1}
{table2}
Steps per second say little where nothing is accepted, so:

{efficiency}
## Errors

![Simulation 1](figures/figure1.png)

![Simulation 2](figures/figure2.png)

![Errors against the exact posterior on 6x6 and 8x8](figures/figure3.png)

What is left of Calibrated's error here is mostly the Monte-Carlo error of the reference itself.

{errors}
{studies}
## The printed proposal

{acceptance}
## What was cut

{cut}
"""


def page(store: Store, results: Results) -> str:
    """The page as Markdown."""
    planned = cells_of("standard")
    done = sum(cell in store for cell in planned)
    found = [finding.verdict for _, finding in judge_all(results)]
    counts = ", ".join(
        f"{found.count(name)} {name}" for name in (REPRODUCED, PARTLY, NOT, UNDECIDED) if found.count(name)
    )
    tables = {
        name: TABLES[name](results).markdown()
        for name in ("table1", "table2", "efficiency", "errors", "studies", "acceptance")
    }
    return PAGE.format(
        counts=f"Of {len(found)} claims: {counts}",
        parts="; ".join(f"`{part}` ({summary})" for part, summary in PARTS.items()),
        done=done,
        replications=_replications(results),
        planned=len(planned),
        claims=claims_markdown(results),
        cut=_cut(results),
        **tables,
    )


def _replications(results: Results) -> str:
    return "; ".join(
        f"{grid}: {', '.join(str(results.count(grid, n, 'reference')) for n in settings.TABLE_SIZES)}"
        for grid in settings.GRIDS
    )


def _cut(results: Results) -> str:
    """What the profile asks for and is not there, a line for the rows that are equally far."""
    short: dict[tuple[str, str, str], list[str]] = {}
    for (grid, setting, method), row in replications(results).items():
        counts = dict.fromkeys(f"{done} of {asked}" for done, asked in row.values() if done < asked)
        if counts:
            short.setdefault((grid, setting, " or ".join(counts)), []).append(METHODS[method].label)
    if not short:
        return "Nothing: the profile `standard` is complete.\n"
    lines = [f"- {grid}, {setting}: {', '.join(rows)}: {counts}" for (grid, setting, counts), rows in short.items()]
    head = "Replications that are there, of those that the profile `standard` asks for:\n\n"
    tail = "\n\n`make paper-run` runs what is missing; then `make paper` writes this page again.\n"
    return head + "\n".join(lines) + tail
