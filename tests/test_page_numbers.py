"""Numbers in the prose of README and site are those of the files that their measurements wrote."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrfbayes.calibration.full import DENSE_PARAMETERS
from mrfbayes.coins.importance_weights import TRUSTED_K
from mrfbayes.data.tally import RETAINED_BYTES
from mrfbayes.methods.calibrated import PARTICLE_LIMIT
from mrfbayes.model.natural_form import MOST_DENSE_PARAMETERS
from mrfbayes.particles.completions import SUMMED

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
ROWS = ROOT / "benchmarks" / "evidence" / "results"


def said(page):
    """The text of a page in one line, with links as their words alone."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.sub(r"\s+", " ", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))


def measured(name, *patterns):
    """The numbers that each pattern finds in a file of results, in their order."""
    text = (RESULTS / name).read_text(encoding="utf-8")
    numbers = []
    for pattern in patterns:
        found = re.search(pattern, text)
        assert found is not None, f"{name} has nothing like {pattern}"
        numbers += [float(number.replace(",", "")) for number in found.groups()]
    return numbers


def rows(*names):
    return pd.concat([pd.read_csv(ROWS / f"{name}.csv") for name in names])


def spans(table, **columns):
    """Smallest and largest of each column, times its factor."""
    return [factor * limit for name, factor in columns.items() for limit in (table[name].min(), table[name].max())]


def seconds_of(field, d):
    """Of the whole posterior, from the first table of dense.md."""
    return rf"\| {field} \| {d} \|(?:[^|]*\|){{4}} ([\d.]+) \("


BINARY = [seconds_of("binary", d) for d in (20, 40, 64, 100)]
EXACT = rows("dense_exact", "dense_ordered", "dense_adhd")
LARGE = rows("dense_large").sort_values(["d", "n"])
SEEDS = rows("dense_seeds").sort_values("d")
CELLS = rows("cells").groupby(["kind", "method"])[["mean_error", "sd_error"]].mean() * 100
COVERED = rows("dense_calibration").query("d == 64")["cover50"] * 100
CLUSTER = r"\| \d+ of {task}[^|]*\| {by}[^|]*\|[^|]*\| ([\d.]+) \|[^|]*\| ([\d.]+)%"
# Of planar fields: expected counts, the covariance times a direction, and that with the third cumulant.
SPEED = measured("planar.md", r"\| 100x100 \|(?:[^|]*\|){3} ([\d.]+) \|[^|]*\| ([\d.]+) \| ([\d.]+)")

QUOTES = [
    *(
        (
            "docs/calibrated.md",
            sentence,
            [error for kind, method in pairs for error in CELLS.loc[(kind, method)]],
        )
        for sentence, pairs in (
            (
                "{:.2f} % and {:.2f} % on grids with theta in (.5, .8), where MLE-L has {:.1f} % and {:.1f} %",
                [("paper", "calibrated"), ("paper", "mle")],
            ),
            (
                "{:.2f} % and {:.2f} % on (.6, .9) and (.7, .9), where MLE-L has {:.1f} % and {:.0f} %",
                [("strong", "calibrated"), ("strong", "mle")],
            ),
            (
                "{:.2f} % and {:.2f} % on other graphs, {:.2f} % and {:.2f} % on survey data",
                [("graphs", "calibrated"), ("surveys", "calibrated")],
            ),
        )
    ),
    (
        "docs/mathematics/loops.md",
        "off by {:.2f} % on average on strongly coupled grids and by {:.2f} % on those of the paper, with them by "
        "{:.2f} and {:.2f} %",
        [
            CELLS.loc[(kind, method), "sd_error"]
            for method in ("calibrated (order)", "calibrated")
            for kind in ("strong", "paper")
        ],
    ),
    (
        "docs/dense.md",
        "alone gave {:.1f} +- {:.1f} %; the next twelve {:.1f} +- {:.1f} %",
        [value for part in (COVERED[:4], COVERED[4:]) for value in (part.mean(), part.std() / np.sqrt(len(part)))],
    ),
    ("docs/dense.md", "up to {:,} parameters", [MOST_DENSE_PARAMETERS]),
    ("docs/calibrated.md", "Beyond {:,} parameters the particles", [PARTICLE_LIMIT]),
    ("docs/calibrated.md", "beyond {:,} parameters a full covariance is too large", [DENSE_PARAMETERS]),
    ("docs/calibrated.md", "above {} Hamiltonian Monte Carlo takes over", [TRUSTED_K]),
    ("docs/missing.md", "completions are more than {:,}, by Gibbs sweeps", [SUMMED]),
    ("docs/howto/large_data.md", "as it is at most {:.3g} GiB", [RETAINED_BYTES / 2**30]),
    (
        "docs/dense.md",
        "20, 40, 64 and 100 binary variables takes {:.1f}, {:.1f}, {:.1f} and {:.0f} of them",
        measured("dense.md", *BINARY),
    ),
    ("docs/dense.md", "30 items with five levels {:.1f}.", measured("dense.md", seconds_of("ordered, 5 levels", 30))),
    (
        "docs/dense.md",
        "it is {1:.0f} ({0:.0f} by the clock on two cores)",
        measured("dense.md", r"before: ([\d.]+) s \(([\d.]+) s of the processor\)"),
    ),
    (
        "docs/dense.md",
        "150 binary variables take {:.0f} seconds by the clock and {:.1f} GB",
        measured("reach.md", r"\| langevin \| (\d+) \| \d+ \| ([\d.]+) \|"),
    ),
    (
        "docs/dense.md",
        "means within {:.3f} to {:.3f} of an sd, sds within {:.1f} to {:.1f} %, root mean squares",
        spans(EXACT, mean_error=1, sd_error=100),
    ),
    (
        "docs/dense.md",
        "of which about {1:.3f} to {0:.3f} is the error of the reference",
        list(1 / np.sqrt(spans(EXACT, reference_ess=1))),
    ),
    (
        "docs/dense.md",
        "two): means within {:.3f} to {:.3f} of an sd, sds within {:.1f} to {:.1f} %",
        spans(rows("dense_slow"), mean_error=1, sd_error=100),
    ),
    (
        "docs/dense.md",
        "means within {:.3f} and {:.3f} of an sd, sds within {:.1f} and {:.1f} %",
        [*LARGE["mean_error"][LARGE["d"] == 20], *100 * LARGE["sd_error"][LARGE["d"] == 20]],
    ),
    (
        "docs/dense.md",
        "a third as long: {:.3f} and {:.3f}, {:.1f} and {:.1f} %",
        [*LARGE["mean_error"][LARGE["d"] == 40], *100 * LARGE["sd_error"][LARGE["d"] == 40]],
    ),
    (
        "docs/dense.md",
        "Chains grow from {:,.0f} to {:,.0f}, and the largest correction of an sd is {:.2f}",
        [*spans(LARGE, chains=1), LARGE["largest_correction"].max()],
    ),
    (
        "docs/dense.md",
        "{:.3f} / {:.3f} / {:.3f} of an sd, stated {:.3f} / {:.3f} / {:.3f}",
        [*SEEDS["mean_error"], *SEEDS["said_mean"]],
    ),
    (
        "docs/evidence.md",
        "MLE-L's sds are off by {0:.1f} % there ({2:.1f} % too small on average), Pseudo-L's mode by {1:.2f}",
        [
            *measured("planar_100.md", r"\| MLE-L \|[^|]*\| ([\d.]+)%", r"\| Pseudo-L \| ([\d.]+)"),
            *(100 * (1 - ratio) for ratio in measured("planar_100.md", r"\| MLE-L \|[^|]*\|[^|]*\| ([\d.]+)")),
        ],
    ),
    (
        "docs/evidence.md",
        "off by {:.3f} sds in the mode (persistent contrastive divergence) and by {:.2f} % in the sds with the 1,024 "
        "particles that a 1000x1000 field has, {:.2f} % with 16,384",
        measured(
            "planar_100.md",
            r"mode by pcd \| ([\d.]+)",
            r"spreads from 1,024 \|  \| ([\d.]+)%",
            r"spreads from 16,384 \|  \| ([\d.]+)%",
        ),
    ),
    (
        "docs/planar.md",
        "takes {:.1f} times as long as expected counts, with the third cumulant {:.1f} times",
        [value / SPEED[0] for value in SPEED[1:]],
    ),
    (
        "docs/planar.md",
        "{:.0f} steps at 1000x1000",
        measured("planar_million.md", r"it took (\d+) iterations"),
    ),
    (
        "docs/evidence_structure.md",
        "off by {1:.4f} on average, never by more than {0:.1f} of the Monte-Carlo errors that the result states; those "
        "of the pseudolikelihood by {2:.3f} on average",
        measured("select.md", r"All: largest ([\d.]+) errors; mean ([\d.]+), of the pseudolikelihood ([\d.]+)\."),
    ),
    (
        "docs/limits.md",
        "At 60 variables and 1,000 rows two seeds differ by {:.4f} on average",
        measured("select.md", r"\| d = 60, n = 1,000 \| another seed \| ([\d.]+)"),
    ),
    *(
        (
            page,
            "whole call gives {:,.0f} effective draws a second",
            measured("independence.md", r"of the weights[^|]*\|[^|]*\| ([\d,]+)"),
        )
        for page in ("README.md", "docs/calibrated.md")
    ),
    *(
        (page, "{:,.0f} times", measured("independence.md", r"\| NUTS, [\d.]+ gradients.*\| ([\d,]+) \|"))
        for page in ("README.md", "docs/calibrated.md", "docs/coming_from/pymc_numpyro.md")
    ),
    (
        "docs/coming_from/bgms.md",
        "at most {:.2f} posterior sds and its sds by factors of {:.2f} to {:.2f}; the sds of `exact` are {:.2f} times",
        measured(
            "r_packages.md",
            r"at most ([\d.]+) posterior sds, ratios of sds are\s+([\d.]+)\s+to\s+(\d\.\d+)",
            r"sds of `exact` are ([\d.]+)",
        ),
    ),
    (
        "docs/coming_from/coniii.md",
        'algorithm="exact"` differ by at most {:.0e}, those',
        measured("coniii.md", r"`exact` \| ([\de.-]+) \|"),
    ),
    (
        "docs/coming_from/bayesimages.md",
        "{:.3f} (sd {:.3f}) by its exchange algorithm and {:.3f} (sd {:.3f}) by",
        measured(
            "r_packages.md",
            r"exchange algorithm \| ([\d.]+) \(([\d.]+)\)",
            r"`segment` \| ([\d.]+) \(([\d.]+)\)",
        ),
    ),
    (
        "docs/calibrated.md",
        "gradient took {:.0f} microseconds",
        measured("independence.md", r"takes (\d+) us"),
    ),
    (
        "README.md",
        "grid with its {:,.0f} parameters took {:.0f} s and {:.1f} GB on two cores",
        np.multiply([1, 1, 1e-3], measured("scale.md", r"\| 1000x1000 \| ([\d,]+) \| (\d+) \| \d+ \| (\d+)")),
    ),
    (
        "docs/howto/cluster.md",
        "takes {0:.0f} seconds of the processor in one process where the model is known, and {2:.0f} with a pass that "
        "decides the coding, and {1:,.0f} MiB",
        measured(
            "folders_billion.md",
            r"1,000,000,000 \| counted by a model \| ([\d.]+) \| [\d.]+ \| (\d+)",
            r"1,000,000,000 \| schema, model of the data, counted \| ([\d.]+)",
        ),
    ),
    (
        "docs/howto/large_data.md",
        "were counted in {0:.0f} seconds of the processor, with {1:.1f} GB of memory",
        np.multiply(
            [1, 1.048576e-3],
            measured("folders_billion.md", r"1,000,000,000 \| counted by a model \| ([\d.]+) \| [\d.]+ \| (\d+)"),
        ),
    ),
    *(
        (
            "docs/howto/cluster.md",
            f"| {said_task} | {{1:.{one}f}} % | {{3:.{two}f}} % | {{2:.1f}} ms | {{5:.0f}} % | {{4:.0f}} ms |",
            measured("cluster.md", *(CLUSTER.format(task=task, by=by) for by in ("this", "2 processes", "2 Dask"))),
        )
        for task, said_task, one, two in (
            (r"0\.01 s", "0.01 s", 0, 0),
            (r"0\.1 s", "0.1 s", 0, 1),
            ("1 s", "1 s", 1, 1),
            ("sample_many", "`sample_many`, 4x4 field, 0.2 to 0.3 s", 1, 1),
        )
    ),
]


@pytest.mark.parametrize(("page", "sentence", "numbers"), QUOTES, ids=lambda value: str(value)[:60])
def test_a_page_quotes_what_was_measured(page, sentence, numbers):
    assert sentence.format(*numbers) in said(page)
    assert sentence.format(*(1.1 * np.asarray(numbers))) not in said(page)


def coverage_line(part):
    """A row of the table of coverage; parameters of one data set count as independent where they say more."""
    (d, n), parameters = part.name, part.name[0] * (part.name[0] + 1) / 2
    cells = []
    for name, factor, variance in (("cover50", 100, 0.25), ("cover90", 100, 0.09), ("z_square", 1, 2)):
        error = max(
            part[name].std() / np.sqrt(len(part)), np.sqrt(variance / parameters / len(part)) if len(part) < 4 else 0
        )
        digits = 1 if factor == 100 else 3
        cells.append(f"{factor * part[name].mean():.{digits}f} +- {factor * error:.{digits}f}")
    return f"| {d} | {n:,} | {len(part)} | {' | '.join(cells)} |"


def test_the_table_of_coverage_is_that_of_its_rows():
    lines = rows("dense_calibration").groupby(["d", "n"])[["cover50", "cover90", "z_square"]].apply(coverage_line)
    assert [line for line in lines if line not in said("docs/dense.md")] == []


def test_the_table_of_methods_is_a_part_of_the_evidence():
    """docs/which_method.md has four rows and columns of the table on the page of evidence, with fewer digits."""

    def cells(page):
        lines = [line.strip("| \n").split(" | ") for line in (ROOT / page).read_text(encoding="utf-8").splitlines()]
        return {line[0]: line for line in lines}

    wide, narrow = cells("docs/evidence.md"), cells("docs/which_method.md")
    columns = [wide["fields"].index(name) for name in ("calibrated", "mle", "laplace (exact)", "pseudo")]
    for name, other in (
        ("grids, theta in (.5, .8)",) * 2,
        ("grids, (.6, .9) and (.7, .9)", "grids, strongly coupled"),
        ("regular, small-world, complete graphs",) * 2,
        ("adhd and reinis",) * 2,
    ):
        for column, shown in zip(columns, narrow[other][1:], strict=True):
            for full, short in zip(wide[name][column].split(" / "), shown.split(" / "), strict=True):
                assert abs(float(full) - float(short)) <= 0.5 * 10.0 ** -len(short.partition(".")[2]) + 1e-9
