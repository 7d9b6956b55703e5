"""Pictures of results: drawn without a warning, with the numbers that they show, names whole and harmless."""

import re
import warnings
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex

import mrfbayes as mb
from mrfbayes.plots import style
from mrfbayes.plots.layouts import SIDES, label_sides, positions
from mrfbayes.plots.network import sure_level

mpl.use("Agg")
NAMES = ("tired", "a much longer name than any circle holds", "sad <b>", "$x$ costs $2", "=cmd|x")
PAIRS = [(u, v) for i, u in enumerate(NAMES) for v in NAMES[i + 1 :]]
MODEL = mb.graph(PAIRS, nodes=NAMES, fields=True, coupling="both-one")


@pytest.fixture(scope="module")
def data():
    w = np.concatenate([[1.5, -1.2, 0, 0, 0, 1.0, 0, 0, 0, 0.2], np.full(5, -0.4)])
    return mb.simulate(MODEL, MODEL.chart.theta(w), 300, sampler="exact", rng=1)


@pytest.fixture(scope="module")
def posterior(data):
    return mb.sample(MODEL, data, prior="normal(0, 1)", draws=1_000, progress=False)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


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


def test_panels_are_drawn_into_the_axes_that_are_given(posterior):
    figure, axes = pyplot.subplots(1, 3)
    assert mb.plots.network_panels(posterior, ax=axes) is figure
    assert all(ax.texts for ax in axes)
    apart = [pyplot.subplots()[1] for _ in range(3)]
    mb.plots.network_panels(posterior, ax=apart)
    shown = sum(len(mb.plots.data(ax)) for ax in apart)
    assert shown == len(PAIRS)
    axes = pyplot.subplots(2, 2)[1]
    with pytest.raises(mb.InputError, match="3 panels, got 4 axes"):
        mb.plots.network_panels(posterior, ax=axes)
    with pytest.raises(mb.InputError, match="measure = 'fame': choose one of 'strength'"):
        mb.plots.centrality(posterior, "fame")


def test_network_plot_shows_the_numbers_of_the_posterior(posterior):
    ax = mb.plots.network(posterior)
    lines = ax.collections[0]
    table = mb.plots.data(ax)
    assert len(lines.get_segments()) == len(table) == 10
    widest = int(np.argmax(lines.get_linewidths()))
    order = np.argsort(table["size"].to_numpy())
    assert order[widest] == int(np.argmax(np.abs(posterior.log_odds.mean(axis=(0, 1))[:10])))
    texts = {text.get_text() for text in ax.texts}
    assert "tired" in texts
    assert any(text.startswith("a much") and text.endswith("holds") for text in texts)  # both ends, not cut off
    places = positions(MODEL, "spring", table["size"].to_numpy())
    np.testing.assert_array_equal(places, positions(MODEL, "spring", table["size"].to_numpy()))
    sure = mb.plots.data(mb.plots.network(posterior, show="sure"))
    assert (sure["sign_probability"] >= 0.9).all()


def test_a_forest_of_many_shows_the_surest_and_keeps_all():
    model = mb.grid(12, 12)
    rng = np.random.default_rng(3)
    counts = rng.binomial(200, rng.uniform(0.4, 0.8, model.n_parameters)).astype(float)
    statistics = mb.Statistics.from_counts(model, counts, 200)
    theta = np.clip(counts / 200, 0.05, 0.95)
    post = mb.sample(model, statistics, "mle", estimate=theta, draws=50, progress=False)
    ax = mb.plots.forest(post)
    assert len(ax.get_yticks()) == 40
    assert len(mb.plots.data(ax)) == 264
    assert "surest 40 of 264" in ax.get_title(loc="left")


def test_a_tied_field_is_its_image():
    model = mb.grid(6, 6, tied="direction")
    x = np.random.default_rng(4).integers(0, 2, (1, 36))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)  # one image says little
        post = mb.sample(model, x, "pseudo", draws=200, progress=False)
    ax = mb.plots.field(model, post)
    np.testing.assert_array_equal(ax.images[0].get_array(), x.reshape(6, 6))
    assert ax.get_title(loc="left").startswith("horizontal: theta 0.")  # as the tables of such a model have it
    assert mb.plots.field(model, post, scale="ising").get_title(loc="left").startswith("horizontal: coupling J ")


def test_a_masked_image_is_drawn_where_its_pixels_are(tmp_path):
    mask = np.ones((6, 7), dtype=bool)
    mask[0, :3] = False
    model = mb.grid(6, 7, mask=mask, neighbours=8, tied="direction")
    x = np.random.default_rng(4).integers(0, 2, (1, model.n_nodes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        mb.sample(model, x, "pseudo", draws=200, progress=False).save(tmp_path / "a.nc")
    ax = mb.plots.field(model, mb.load(tmp_path / "a.nc"))  # a file holds no rows, but their averages
    image = np.ma.filled(ax.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(np.isnan(image), ~mask)
    np.testing.assert_array_equal(image[mask], x[0])
    assert len(ax.get_title(loc="left").splitlines()) == 4


def test_a_crowded_network_shows_fewer_and_surer_edges():
    table = pd.DataFrame({"sign_probability": np.linspace(0.5, 1.0, 400)})
    assert sure_level(table.iloc[:60]) == 0.9
    level = sure_level(table)
    assert level == 0.95
    assert (table["sign_probability"] >= level).sum() <= 60


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


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_the_network_of_a_mixed_field_has_strengths_on_one_scale():
    rng = np.random.default_rng(3)
    shared = rng.integers(0, 2, 200)
    names = np.array(["north", "south", "west"])
    table = {
        "a": shared,
        "b": np.where(rng.random(200) < 0.9, shared, 1 - shared),
        "c": 2 * shared + rng.integers(0, 3, 200),
        "region": names[rng.integers(0, 3, 200)],
    }
    model = mb.Model.from_data(mb.Data(table))
    post = mb.sample(model, mb.Data(table), draws=200, chains=2, progress=False)
    drawn = mb.plots.data(mb.plots.network(post))
    assert drawn["sign"].tolist() == [1, 1, 0, 1, 0, 0]
    mean = post.log_odds.mean(axis=(0, 1))
    assert drawn.loc["a--b", "size"] == pytest.approx(mean[0])
    assert drawn.loc["a--c", "size"] == pytest.approx(mean[1] * np.sqrt(24 / 3))
    assert drawn["sign_probability"].between(0.5, 1).all()
    assert mb.plots.data(mb.plots.network_panels(post)).index.tolist() == drawn.index.tolist()


def test_the_axis_of_evidence_is_cut_at_a_million_both_ways(posterior):
    powers = np.array([40.0, 6.5, 2.0, 0.5, 0.0, -0.5, -2.0, -5.0, -7.0, -40.0])
    edges = posterior.edges().assign(log_bf10=powers * np.log(10), log_bf10_error=0.1)
    ax = mb.plots.edge_evidence(posterior, edges=edges)
    marks = {line.get_marker(): sorted(line.get_xdata()) for line in ax.lines if line.get_marker() in "<>"}
    assert marks == {">": [6, 6], "<": [-6, -6]}
    assert -7 < ax.get_xlim()[0] < -6 < 6 < ax.get_xlim()[1] < 7
    np.testing.assert_allclose(mb.plots.data(ax)["log_bf10"].sort_values(), np.sort(powers) * np.log(10))  # not cut


def test_rings_are_filled_clockwise_from_the_top_and_texts_are_a_legend(posterior):
    texts = [f"Text of item {k}" for k in range(len(NAMES))]
    nodes = pd.DataFrame({"ring": [0.25, 0.0, 0.5, 0.75, 1.0], "text": texts}, index=list(NAMES))
    ax = mb.plots.network(posterior, nodes=nodes)
    wedges = [found.get_paths()[0].vertices for found in ax.collections if found.get_zorder() == 2.5]
    assert len(wedges) == 4  # no ring is filled where nothing is predicted
    assert (wedges[0] >= -1e-9).all()  # a quarter: right of the top
    assert (wedges[1][:, 0] >= -1e-9).all()  # a half: the right side
    legend = [text.get_text() for found in ax.artists for text in found.get_texts()]
    assert legend[0] == "1  tired: Text of item 0"
    assert len(legend) == len(NAMES)


def test_names_stand_where_they_cover_neither_nodes_nor_names():
    rng = np.random.default_rng(2)
    places, wide, tall, gap = rng.uniform(-1, 1, (17, 2)), np.full(17, 0.3), 0.06, 0.05
    half = np.array([0.15, 0.03])

    def covered(side):
        centres = places + SIDES[side] * (half + gap)
        pairs = np.abs(centres[:, None] - centres) < 2 * half
        nodes = np.abs(centres[:, None] - places) < half
        return (pairs.all(axis=2).sum() - 17) // 2 + nodes.all(axis=2).sum()

    side = label_sides(places, wide, tall, gap)
    outwards = np.where(places[:, 0] > 0, 0, 1)
    assert covered(side) == 0 < covered(outwards)


def test_equal_draws_of_all_chains_have_equal_ranks():
    """An edge that is absent in most draws has many zeros; in the order of chains they would look like no mixing."""
    draws = np.zeros((4, 1_000, 1))
    absent = SimpleNamespace(draws=draws, r_hat=np.ones(1), parameters=["a--b"])
    counts = mb.plots.data(mb.plots.ranks(absent)).to_numpy()
    assert counts.sum() == 4_000
    assert counts.min() > 25  # 50 are expected
    assert counts.max() < 80


def test_a_forest_has_the_surest_first_and_colours_by_sign():
    rng = np.random.default_rng(6)
    first, second, third = rng.integers(0, 2, (3, 200))
    flips = rng.random((2, 200)) < 0.1
    x = np.stack([first, first ^ flips[0], second, 1 - (second ^ flips[1]), third, rng.integers(0, 2, 200)], axis=1)
    model = mb.graph([("a", "b"), ("c", "d"), ("e", "f")])
    ax = mb.plots.forest(mb.sample(model, x, "mle", rng=1, progress=False))
    assert mb.plots.data(ax).index[-1] == "e--f"
    colours = [to_hex(colour).upper() for colour in ax.collections[0].get_colors()]  # in the order of the means
    assert colours == [to_hex(colour).upper() for colour in (style.NEGATIVE, style.MUTED, style.POSITIVE)]
