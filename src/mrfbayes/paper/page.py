"""The page in three layers: a summary, a table of verdicts, and a section with the evidence behind each claim."""

from __future__ import annotations

from collections.abc import Mapping

from mrfbayes.paper import larger
from mrfbayes.paper import results as measures
from mrfbayes.paper.claims import NOT, PARTLY, REPRODUCED, UNDECIDED, Claim, Finding, judge_all, percent
from mrfbayes.paper.constants import METHODS
from mrfbayes.paper.figures import FIGURES, precision
from mrfbayes.paper.journal import Store
from mrfbayes.paper.printing import TABLES, Table, replications
from mrfbayes.paper.profiles import PRECISION, cells_of
from mrfbayes.paper.results import Results

RERUN = "rerun.json"
MAX_ROW = 120  # characters of a row of the table of verdicts
# Where the evidence of a part is drawn, and where it is tabulated.
PART_FIGURE = {"figure1": "figure1", "figure2": "figure2", "figure3": "figure3", "table1": "times", "table2": "times"}
PART_TABLE = {
    "table1": "Table 1",
    "table2": "Table 2",
    "figure1": "Errors",
    "figure2": "Errors",
    "figure3": "Errors",
    "acceptance": "The printed proposal",
    "studies": "Side studies",
    "gibbs": "Table 1",
}
TITLED = {
    "Table 1": "table1",
    "Table 2": "table2",
    "Efficiency": "efficiency",
    "Errors": "errors",
    "Side studies": "studies",
    "The printed proposal": "acceptance",
}
CAPTIONS = {
    "figure1": "Simulation 1: errors against the exact posterior on the 4x4 grid by n",
    "figure2": "Simulation 2: errors of the posterior mean against the truth by n",
    "figure3": "Errors against the exact posterior on the 6x6 and 8x8 grids by n",
    "times": "Run times: ours, and those that the paper prints",
    "larger": "Error of the mean, ratio of sds and coverage against the number of parameters",
}

PAGE = """\
# The simulations of Jie Liu and Hao Zheng, claim by claim

{summary}

| | claim | verdict | our number |
|---:|---|---|---|
{rows}

± is one standard error. `make paper` writes this page, its tables and its figures from the records in `results/`; only
the reasons are prose, and a test fails where one was written for other numbers. `make paper-run WORKERS=2` runs cells
that are missing; it can be stopped at any time. {complete}

## The claims

{sections}
## Beyond the paper's sizes

{larger}
## Precision

{precision}

## Tables

{tables}"""

SUMMARY = """\
Jie Liu and Hao Zheng (*MLE-induced Likelihood for Markov Random Fields*) replace the intractable likelihood of a Markov
random field by a product of one-parameter likelihoods, one per edge, set up at a maximum likelihood estimate (MLE-L).
We ran their simulations again with this package, every method to its end, and measured each against the exact
posterior. Their main result holds on their fields, grids up to 8x8 with weak couplings: at n = 500 on 8x8 the posterior
means of MLE-L are off by {mean} of a posterior sd and its sds by {sd}, the means of Pseudo-L by {pseudo}. Of
{count} claims {verdicts}.

What does not hold: the exact posterior is not out of reach ({exact} s for 10^6 steps on 8x8), Pseudo-L does not slow
down with n, and the printed proposal leaves all chains stuck on larger fields. The sampling methods that MLE-L is
compared with are wider than the posterior at large n (PersistMC's sds {wide} times the exact ones), and the sds of
MLE-L are too small, because each coin holds the others fixed. {beyond}"""


def page(
    store: Store, results: Results, fields: list[larger.LargerField], rerun: Mapping[str, float] | None = None
) -> str:
    """The page as Markdown; ``rerun`` is what ``benchmarks/paper_rerun.py`` found."""
    findings = judge_all(results)
    planned = cells_of("standard")
    done = sum(cell in store for cell in planned)
    complete = (
        f"All {len(planned):,} cells of the profile `standard` are there: nothing is missing."
        if done == len(planned)
        else f"{done:,} of the {len(planned):,} cells of the profile `standard` are there; missing:\n\n{_cut(results)}"
    )
    return PAGE.format(
        summary=_summary(results, [finding for _, finding in findings], fields),
        rows="\n".join(row(number, *pair) for number, pair in enumerate(findings, 1)),
        complete=complete,
        sections=_sections(findings),
        larger=_larger(fields),
        precision=_precision(results) + _rerun(rerun),
        tables="\n".join(f"### {title}\n\n{TABLES[name](results).markdown()}" for title, name in TITLED.items()),
    )


def row(number: int, claim: Claim, finding: Finding) -> str:
    """A row of the table of verdicts."""
    return f"| {number} | {claim.text} | {finding.verdict} | {finding.number} |"


def _summary(results: Results, findings: list[Finding], fields: list[larger.LargerField]) -> str:
    verdicts = [finding.verdict for finding in findings]
    counts = [
        f"{verdicts.count(name)} {words}"
        for name, words in (
            (REPRODUCED, "are reproduced"),
            (PARTLY, "in part"),
            (NOT, "not"),
            (UNDECIDED, "were not run"),
        )
        if verdicts.count(name)
    ]
    return SUMMARY.format(
        mean=percent(results.errors(measures.mean_error_sds, "8x8", 500, "mle-0")),
        sd=percent(results.errors(measures.sd_error_relative, "8x8", 500, "mle-0")),
        pseudo=percent(results.errors(measures.mean_error_sds, "8x8", 500, "pseudo")),
        count=len(verdicts),
        verdicts=", ".join(counts),
        exact=results.timing("8x8", 1000, "exact").text(1, 1),
        wide=results.errors(measures.sd_ratio, "4x4", 1000, "persistent").text(1, 2),
        beyond=larger.answer(fields),
    ).rstrip()


def _sections(findings: list[tuple[Claim, Finding]]) -> str:
    sections, shown = [], set()
    for number, (claim, finding) in enumerate(findings, 1):
        lines = [f"### {number}. {claim.text}", ""]
        lines += [f"*{claim.place}.* **{finding.verdict.capitalize()}**: {finding.number}. {finding.reason}", ""]
        if finding.score != claim.holds:
            lines += ["**The reason was written for other numbers than these records have.**", ""]
        if finding.checks:
            lines += ["| quantity | ours | criterion | |", "|---|---|---|---|"]
            words = {True: "yes", False: "no", None: ""}
            lines += [f"| {c.quantity} | {c.value} | {c.criterion} | {words[c.holds]} |" for c in finding.checks]
            lines += [""]
        figure = "" if claim.table else PART_FIGURE.get(claim.part)
        if figure and figure not in shown:
            shown.add(figure)
            lines += [image(figure), ""]
        place = claim.table or PART_TABLE[claim.part]
        lines += [f"All numbers: [{place}](#{place.lower().replace(' ', '-')}). Its cells:", ""]
        lines += [f"```sh\nmrfbayes reproduce --profile standard --only {claim.part} --out paper\n```", ""]
        sections.append("\n".join(lines))
    return "\n".join(sections)


def image(name: str) -> str:
    """A figure on the page."""
    return f"![{CAPTIONS[name]}](figures/{name}.svg)"


def larger_table(fields: list[larger.LargerField]) -> Table:
    """The table of larger fields."""
    return Table(
        "By field and method: error of the mean in % of an sd / ratio of sds / coverage of 90 % intervals in %, with "
        "their standard errors. Coverage is of the parameters that made the data; on the questionnaire, which has "
        "none, it is the share of the exact posterior inside the interval.",
        *larger.table(fields),
    )


def _larger(fields: list[larger.LargerField]) -> str:
    if not fields:
        return (
            "Not run yet (`python benchmarks/larger_fields.py`). One data set of each size is on the page of evidence, "
            '`docs/evidence.md`, under "As the field grows".\n'
        )
    limit = f"{100 * larger.SATISFACTORY:g} %"
    return (
        'Does "satisfactory as the field grows" hold, and where does it end? Satisfactory means here that the means of '
        f"MLE-L are off by less than {limit} of an sd and its sds by less than {limit}, on average over the "
        f"parameters. {larger.answer(fields)} The exact posterior is that of the planar determinant on grids and "
        "strips, of tables of states elsewhere; PersistMC was run up to 120 parameters, beyond which its walk has "
        "fewer than 100 effective draws; Laplace-L has the exact information here.\n\n"
        f"{image('larger')}\n\n{larger_table(fields).markdown()}\n"
        "```sh\npython benchmarks/larger_fields.py    # goes on where it was stopped\n```\n"
    )


def _timed(results: Results) -> str:
    """How the run times were measured."""
    if results.machine:
        return f"Run times were measured on an idle core ({results.machine}): `python benchmarks/paper_times.py`."
    return (
        "Run times are those of the runs themselves; where no replication had a core to itself, the tables say so (~). "
        "`python benchmarks/paper_times.py` measures them again, on an idle core, and names the machine."
    )


def _precision(results: Results) -> str:
    """What the standard errors of the figures are, beside the one that the profile was made for."""
    lines = [
        f"The profile `standard` has as many replications as bring the standard error of every plotted error below "
        f"{100 * PRECISION:g} % of it. The largest ones:",
        "",
    ]
    for name in FIGURES:
        worst = precision(results, name)
        if worst is not None:
            lines.append(f"- {name}: {worst}")
    return "\n".join([*lines, "", _timed(results)])


def _rerun(found: Mapping[str, float] | None) -> str:
    """Whether later code gives the same numbers."""
    if found is None:
        return ""
    equal = f"{found['equal']} of {found['printed']}"
    return (
        "\n\nRandom cells were run again with later code (`python benchmarks/paper_rerun.py`, commit "
        f"{found['commit']}). Of those with the printed proposal or without a chain {equal} agree byte for byte; the "
        f"{found['means']:,} means of {found['others']} others differ by {found['rms_z']:g} standard errors (root mean "
        f"square; 1 is expected), at most by {found['largest_z']:g}."
    )


def _cut(results: Results) -> str:
    """What the profile asks for and is not there, a line for the rows that are equally far."""
    short: dict[tuple[str, str, str], list[str]] = {}
    for (grid, setting, method), counts in replications(results).items():
        missing = dict.fromkeys(f"{done} of {asked}" for done, asked in counts.values() if done < asked)
        if missing:
            short.setdefault((grid, setting, " or ".join(missing)), []).append(METHODS[method].label)
    return "\n".join(f"- {grid}, {setting}: {', '.join(rows)}: {text}" for (grid, setting, text), rows in short.items())
