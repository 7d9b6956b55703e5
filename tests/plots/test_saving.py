"""Pictures as files: vectors and pixels of the width asked for, with the numbers that they show, names harmless."""

import re

import pandas as pd
import pytest
from matplotlib import pyplot

import mrfbayes as mb
from plots.plot_cases import MODEL, PAIRS


def test_every_plot_takes_axes_and_keeps_its_numbers(posterior, data, tmp_path):
    check = mb.predictive_check(posterior, data, replicates=20, progress=False)
    table = pd.DataFrame({"present": [3, 4], "absent": [1, 0], "undecided": [6, 6]}, index=[0.5, 1.0])
    drawn = {
        "network": lambda ax: mb.plots.network(posterior, ax=ax),
        "forest": lambda ax: mb.plots.forest(posterior, ax=ax),
        "nodes": lambda ax: mb.plots.forest(posterior, nodes=True, scale="ising", ax=ax),
        "evidence": lambda ax: mb.plots.edge_evidence(posterior, ax=ax),
        "ranks": lambda ax: mb.plots.ranks(posterior, ax=ax),
        "predictive": lambda ax: mb.plots.predictive(check, ax=ax),
        "sensitivity": lambda ax: mb.plots.sensitivity(table, ax=ax),
        "field": lambda ax: mb.plots.field(MODEL, posterior, ax=ax),
        "marginals": lambda ax: mb.plots.marginals(posterior, parameters=0, ax=ax),
        "centrality": lambda ax: mb.plots.centrality(posterior, ax=ax),
        "predictability": lambda ax: mb.plots.centrality(posterior, "log_score_gain", ax=ax),
    }
    for name, draw in drawn.items():
        ax = pyplot.subplots()[1]
        assert draw(ax) is ax
        picture, numbers = mb.plots.save(ax, tmp_path / f"{name}.svg")
        text = picture.read_text()
        assert "<svg" in text
        assert "sad <b>" not in text  # escaped
        assert len(pd.read_csv(numbers)) == len(mb.plots.data(ax)), name
        assert "\n=cmd" not in numbers.read_text()


def test_figures_keep_their_numbers(posterior, tmp_path):
    panels = mb.plots.network_panels(posterior)
    assert len(panels.axes) == 3
    shown = sum(int(ax.get_title(loc="left").split(": ")[1].split()[0]) for ax in panels.axes)
    assert shown == len(PAIRS)
    assert set(mb.plots.data(panels)["verdict"]) <= {"present", "absent", "undecided"}
    mb.plots.save(panels, tmp_path / "panels.pdf")
    assert len(mb.plots.data(mb.plots.marginals(posterior, parameters=[0, 3])).index.unique()) == 2


def test_wrong_arguments_raise_input_error(posterior, tmp_path):
    ax = mb.plots.forest(posterior)
    for call, words in (
        (lambda: mb.plots.network(posterior, layout="star"), "layout = 'star': choose one of"),
        (lambda: mb.plots.network(posterior, layout="grid"), "this model is not a grid"),
        (lambda: mb.plots.network(posterior, layout={"tired": (0, 0)}), "no place is given for node"),
        (lambda: mb.plots.network(posterior, show="best"), "show = 'best': choose"),
        (lambda: mb.plots.forest(posterior, rows=0), "rows = 0"),
        (lambda: mb.plots.ranks(posterior, "nobody"), "the model has no such parameter"),
        (lambda: mb.plots.sensitivity(pd.DataFrame({"a": [1]})), "mrfbayes.prior_sensitivity"),
        (lambda: mb.plots.data(pyplot.subplots()[1]), "has drawn"),
        (lambda: mb.plots.save(ax, tmp_path / "a.gif"), "ends in one of .svg, .pdf, .png"),
    ):
        with pytest.raises(mb.InputError) as error:
            call()
        assert words in str(error.value)
    mb.plots.save(ax, tmp_path / "a.svg")
    with pytest.raises(mb.InputError, match="exists"):
        mb.plots.save(ax, tmp_path / "a.svg")
    mb.plots.save(ax, tmp_path / "a.svg", overwrite=True)


@pytest.mark.parametrize(("width", "millimetres"), [("single", 85), ("double", 178), (5.0, 127)])
@pytest.mark.parametrize("draw", ["network", "forest"])
def test_saved_pictures_have_the_width_of_a_journal_column(posterior, tmp_path, draw, width, millimetres):
    for kind in ("svg", "pdf", "png"):
        mb.plots.save(getattr(mb.plots, draw)(posterior), tmp_path / f"a.{kind}", width=width)
        (tmp_path / "a.csv").unlink()
    points = re.search(r'<svg[^>]* width="([\d.]+)pt"', (tmp_path / "a.svg").read_text())
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ", (tmp_path / "a.pdf").read_bytes())
    assert points
    assert box
    assert float(points[1]) / 72 * 25.4 == pytest.approx(millimetres, abs=0.1)
    assert float(box[1]) / 72 * 25.4 == pytest.approx(millimetres, abs=0.1)
    assert pyplot.imread(tmp_path / "a.png").shape[1] / 300 * 25.4 == pytest.approx(millimetres, abs=0.1)  # 300 dpi


def test_unknown_journal_width_raises_input_error(posterior, tmp_path):
    for width in ("triple", 0.5):
        with pytest.raises(mb.InputError, match=f"width = {width!r}"):
            mb.plots.save(mb.plots.forest(posterior), tmp_path / "a.svg", width=width)


def test_a_table_of_the_same_name_is_not_taken_for_a_pictures_numbers(posterior, tmp_path):
    mine = tmp_path / "field.csv"
    mine.write_text("a,b\n0,1\n")
    with pytest.raises(mb.InputError, match="choose another name for the picture"):
        mb.plots.save(mb.plots.forest(posterior), tmp_path / "field.png", overwrite=True)
    assert mine.read_text() == "a,b\n0,1\n"
