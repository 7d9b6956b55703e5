"""Pictures inside the page: in its colours, with ids of their own, and the numbers of the live network."""

import json
import re

import numpy as np
from matplotlib import pyplot

from mrfbayes.plots.style import NEGATIVE, POSITIVE
from mrfbayes.report.figures import PicturePlan, _unit, drawn, inline, live_network
from mrfbayes.report.findings import Findings


def test_pictures_have_the_pages_colours_and_ids_of_their_own():
    shown = []
    for name in ("one", "two"):
        ax = pyplot.subplots()[1]
        ax.plot([0, 1], [0, 1], color=POSITIVE)
        ax.plot([0, 1], [1, 0], color=NEGATIVE)
        ax.set_title("a <b> title")
        shown.append(str(inline(ax, name, "says <b>")))
        assert not pyplot.fignum_exists(ax.figure.number)  # it is closed
    for text in shown:
        assert "var(--positive)" in text
        assert "var(--negative)" in text
        assert POSITIVE.lower() not in text.lower()
        assert "<b>" not in text
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in shown]
    assert not ids[0] & ids[1]
    for text, own in zip(shown, ids, strict=True):
        assert set(re.findall(r'(?:url\(|href=")#([\w-]+)', text)) <= own  # no reference is left behind


def test_places_fill_the_square_with_y_downwards():
    places = np.array([[-3.0, 5.0], [1.0, 1.0], [-1.0, 2.0]])
    np.testing.assert_allclose(_unit(places), [[0, 0], [1, 1], [0.5, 0.75]])


def test_the_live_network_has_the_numbers_of_the_edges(posterior):
    findings = Findings(posterior, check=False)
    live = json.loads(live_network(findings))
    [network] = live["networks"]
    table = findings.edges
    for edge, ends, (_, row) in zip(network["edges"], posterior.model.edges.tolist(), table.iterrows(), strict=True):
        assert edge[:2] == ends
        np.testing.assert_allclose(edge[2], row["mean"], rtol=6e-3)
        np.testing.assert_allclose(edge[3], np.clip(row["log_bf10"] / np.log(10), -6, 6), rtol=6e-3)
        assert live["verdicts"][edge[4]] == row["verdict"]
    assert [node["name"] for node in live["nodes"]] == list(posterior.model.nodes)
    assert len(live["layouts"]["circle"]) == posterior.model.n_nodes


def test_a_picture_that_cannot_be_drawn_is_named_with_its_reason(posterior):
    from mrfbayes.base.errors import InputError

    def refuse(**options):
        raise InputError("no such picture")

    findings = Findings(posterior, check=False)
    assert drawn(findings, [PicturePlan("forest", refuse, facts={"rows": 3, "total": 3}, rows=3)]) == []
    assert "no such picture" in " ".join(findings.missing.values())
