"""Colours, names and widths that all pictures share."""

import pytest
from matplotlib import pyplot

import mrfbayes as mb
from mrfbayes.plots import style


def test_colours_keep_their_meaning():
    assert style.VERDICT["present"] == style.POSITIVE == "#0072B2"
    assert style.VERDICT["absent"] == style.NEGATIVE == "#D55E00"


def test_long_names_keep_both_ends():
    assert style.shorten("abcdefghij", 10) == "abcdefghij"
    assert style.shorten("abcdefghijk", 7) == "abcd…jk"
    assert style.label("a$b--c", 20) == "a\\$b \u2013 c"


def test_widths_are_those_of_journal_columns():
    assert style.figure_width("single") == pytest.approx(85 / 25.4)
    assert style.figure_width("double") == pytest.approx(178 / 25.4)
    assert style.figure_width(3) == 3
    for width in ("triple", 0.5, 51):
        with pytest.raises(mb.InputError, match=f"width = {width!r}"):
            style.figure_width(width)


def test_panels_are_those_given_in_rows():
    given = pyplot.subplots(2, 3)[1]
    found = style.panels_or_new(list(given.ravel()), 2, 3)
    assert (found == given).all()
    assert style.panels_or_new(None, 1, 2).shape == (1, 2)
    with pytest.raises(mb.InputError, match="4 panels, got 6"):
        style.panels_or_new(given, 2, 2)


def test_a_parameter_is_found_by_name_and_place():
    model = mb.graph([("a", "b"), ("b", "c")], fields=True)
    assert [style.place_of(model, which) for which in ("b--c", 1, -1)] == [1, 1, 4]
    for which in ("c--b", 5, -6):
        with pytest.raises(mb.InputError, match=f"parameter = {which!r}"):
            style.place_of(model, which)
