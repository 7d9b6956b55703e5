"""What is chosen where the user leaves it open."""

import pytest

import mrfbayes as mb
from mrfbayes.engines.settings import choose_method


@pytest.mark.parametrize("options", [{}, {"fields": True}])
def test_grids_are_exact_up_to_a_size_and_calibrated_from_there_on(options):
    """No size in between goes back, wherever one way to log Z takes over from another."""
    chosen = [choose_method(mb.grid(k, k, **options))[0] for k in range(4, 24)]
    n_exact = chosen.count("exact")
    assert 8 < n_exact < len(chosen)
    assert chosen == ["exact"] * n_exact + ["calibrated"] * (len(chosen) - n_exact)
