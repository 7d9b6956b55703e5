"""Colours, names and widths that all pictures share."""

from mrfbayes.plots import style


def test_colours_keep_their_meaning():
    assert style.VERDICT["present"] == style.POSITIVE == "#0072B2"
    assert style.VERDICT["absent"] == style.NEGATIVE == "#D55E00"
