"""Which picture a result draws where one is named, and where none is."""

import pytest

import mrfbayes as mb
from mrfbayes.plots.of_result import PICTURES, draw


def test_a_named_picture_is_that_of_its_function(posterior):
    for kind, expected in {
        "forest": mb.plots.forest(posterior),
        "nodes": mb.plots.forest(posterior, nodes=True),
        "evidence": mb.plots.edge_evidence(posterior),
    }.items():
        assert mb.plots.data(draw(posterior, kind, {})).equals(mb.plots.data(expected)), kind
    assert mb.plots.data(draw(posterior, None, {})).equals(mb.plots.data(mb.plots.network(posterior)))
    scaled = draw(posterior, "forest", {"scale": "ising"})
    assert not mb.plots.data(scaled).equals(mb.plots.data(draw(posterior, "forest", {})))


def test_a_fit_draws_the_pictures_of_its_posterior(posterior):
    class Fit:
        pass

    fit = Fit()
    fit.posterior = posterior
    assert mb.plots.data(draw(fit, "forest", {})).equals(mb.plots.data(mb.plots.forest(posterior)))
    assert set(PICTURES["Fit"]) == set(PICTURES["Posterior"])


def test_unknown_pictures_and_results_raise_input_error(posterior):
    with pytest.raises(mb.InputError, match=r"kind = 'cake'.*'forest'"):
        draw(posterior, "cake", {})
    with pytest.raises(mb.InputError, match="dict has no picture"):
        draw({}, None, {})
    for result in (posterior, type("Fit", (), {"posterior": posterior})()):
        with pytest.raises(mb.InputError, match="picture 'network' has no option 'foo'; its options: layout"):
            draw(result, "network", {"foo": 1})
        with pytest.raises(mb.InputError, match="picture 'nodes' has no option 'posterior'"):
            draw(result, "nodes", {"posterior": posterior})
