"""What becomes of a run: its settings, its messages, and errors where nothing was drawn."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.engines.metropolis import RandomWalk
from mrfbayes.results import diagnostics
from mrfbayes.sampling.assemble import _refuse_nothing, convergence_warnings

MODEL = mb.graph([("a", "b"), ("b", "c")], fields=True)


def test_warnings_of_the_data_are_kept_first_and_not_emitted_again():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        statistics = mb.Data([[0, 1, 1]]).count(MODEL)
    assert statistics.warnings
    with warnings.catch_warnings(record=True) as emitted:
        warnings.simplefilter("always")
        posterior = mb.sample(MODEL, statistics, "exact", engine="mh", draws=20, thin=1, rng=1, progress=False)
    texts = [str(item.message) for item in emitted if issubclass(item.category, mb.MRFWarning)]
    assert posterior.warnings[: len(statistics.warnings)] == statistics.warnings
    assert any("R-hat" in text for text in texts)  # twenty draws are few, and this is new
    assert set(texts) == set(posterior.warnings) - set(statistics.warnings)


def test_the_settings_of_a_result_are_those_of_the_call():
    x = np.random.default_rng(1).integers(0, 2, (50, 3))
    call = {"engine": "mh", "draws": 300, "thin": 2, "chains": 3, "warmup": 100}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        posterior = mb.sample(MODEL, x, "mle", prior="normal(0, 2)", rng=9, progress=False, **call)
    kept = posterior.settings
    assert (kept["method"], kept["engine"], kept["chains"]) == ("mle", "mh", 3)
    assert "normal(0, 2)" in kept["prior"]
    assert posterior.seed == 9
    assert posterior.draws.shape == (3, 300, 5)
    assert posterior.data_digest == mb.Data(x).count(MODEL).digest
    assert (posterior.n, posterior.partial) == (50, False)
    assert set(posterior.timings) == {"prepare", "compile", "run"}


@pytest.mark.parametrize("checkpoint", [None, "run.ckpt"])
def test_a_run_without_a_draw_raises_and_names_its_checkpoint(checkpoint):
    settings = SimpleNamespace(checkpoint=checkpoint, seconds=0.25)
    for stopped_by, error in (("Ctrl-C", KeyboardInterrupt), ("the time budget", mb.CostError)):
        with pytest.raises(error) as caught:
            _refuse_nothing(stopped_by, settings)
        assert ("run.ckpt" in str(caught.value)) == (checkpoint is not None)
    assert "0.25 s" in str(caught.value)


def test_chains_that_disagree_or_are_short_are_named_with_their_numbers():
    draws = np.random.default_rng(2).normal(size=(4, 1000, 2))
    engine = RandomWalk()
    assert convergence_warnings(engine, diagnostics.convergence(draws), draws, 0) == []
    apart = draws + np.array([0.0, 0.0, 0.0, 2.0])[:, None, None]
    found = diagnostics.convergence(apart)
    (text,) = convergence_warnings(engine, found, apart, 0)
    assert f"R-hat {found.r_hat.max():.3f}" in text
    assert "4000 draws" in text
    assert "lengthened" not in text
    (text,) = convergence_warnings(engine, found, apart, 7000)
    assert "lengthened to 7000 steps" in text
