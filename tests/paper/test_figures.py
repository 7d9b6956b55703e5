"""Figures of the study from results that are known in advance."""

from mrfbayes.paper.claims import (
    Results,
)
from mrfbayes.paper.figures import DRAWN, FIGURES, largest_error
from mrfbayes.paper.tasks import PRECISION, cells_of
from paper.outcome_cases import PAPER


def test_figures_show_every_method_that_was_run(results):
    figure = FIGURES["figure1"](results)
    assert len(figure.axes) == 2
    labels = figure.axes[0].get_legend_handles_labels()[1]
    assert labels == [
        *("Pseudo-L", "Laplace-L", "MLE-L (rho=0)", "PersistMC", "Calibrated", "Exact-L (Monte-Carlo error)"),
    ]
    assert FIGURES["figure2"](results) is None  # nothing was run on larger grids


def test_run_times_are_drawn_beside_those_that_the_paper_prints(results):
    left, *others = FIGURES["times"](results).axes
    marks = set(left.get_legend_handles_labels()[1])
    assert marks == {"ours", "printed in the paper"}
    printed_only = {text for ax in others for text in ax.get_legend_handles_labels()[1]}
    assert printed_only == {"printed in the paper"}
    drawn = sorted(float(line.get_xdata()[0]) for line in left.lines if line.get_label() == "printed in the paper")
    assert drawn[:2] == [8.08, 12.5]  # Laplace-L and MLE-L at n = 1,000, in seconds


def test_nothing_is_missing_and_every_point_is_as_precise_as_the_page_says(committed):
    assert [cell for cell in cells_of("standard") if cell not in committed] == []
    assert "nothing is missing" in (PAPER / "README.md").read_text(encoding="utf-8")
    for name in DRAWN:
        share, point = largest_error(Results(committed), name)
        assert share < PRECISION, point
