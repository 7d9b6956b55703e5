"""Numbers, lists and verdicts in words, by hand: none is inverted or shown for another."""

import numpy as np
import pytest

from mrfbayes.report.wording import (
    bayes_factor,
    decimals,
    grid_of,
    interval,
    listed,
    number,
    plural,
    support,
    without_folder,
)


@pytest.mark.parametrize(
    ("log_bf10", "words"),
    [
        (np.log(140), "140"),
        (-np.log(23), "1/23"),
        (np.log(2.5), "2.5"),
        (0.0, "1"),
        (np.log(3.2e7), "3.2 \u00d7 10⁷"),
        (-np.log(3.2e7), "1/3.2 \u00d7 10⁷"),
        (np.log(1234), "1,234"),
        (np.nan, "\u2013"),
    ],
)
def test_bayes_factors_in_words(log_bf10, words):
    assert bayes_factor(log_bf10) == words


def test_numbers_and_lists_in_words():
    assert number(-1.234) == "\u22121.23"
    assert number(-0.001) == "0.00"
    assert interval(-1, 2.5) == "\u22121.00 to 2.50"
    assert [plural(n, "edge") for n in (0, 1, 2, 1200)] == ["0 edges", "1 edge", "2 edges", "1,200 edges"]
    assert listed(["a"]) == "a"
    assert listed(["a--b", "c"]) == "a \u2013 b and c"
    assert listed(list("abcdefg"), 5) == "a, b, c, d, e and 2 more"
    assert [grid_of((n, 4)).split()[0] for n in (4, 8, 7, 11, 18, 80)] == ["a", "an", "a", "an", "an", "an"]
    assert without_folder("/home/x/data.csv: bad row") == "data.csv: bad row"
    assert without_folder("theta: bad") == "theta: bad"


def test_the_numbers_of_verdicts_are_not_exchanged():
    said = {"present": 3, "absent": 5, "undecided": 7, "unknown": 0}
    text = support(said, 15, "edge")
    assert "support 3 edges of 15" in text
    assert "rule out 5 (below 1/10)" in text
    assert "leave 7 undecided" in text
    assert "no edge of 12" in support({**said, "present": 0}, 12, "edge")


def test_numbers_have_as_many_digits_as_their_spread_allows():
    assert [decimals(sd) for sd in (2.0, 0.4, 0.1, 0.02, 0.006, 0.0005, 0.0, float("nan"))] == [2, 2, 2, 3, 3, 4, 2, 2]
    assert number(-0.001) == "0.00"
    assert without_folder("/home/me/a b/x.csv: odd: 1/2") == "x.csv: odd: 1/2"
    assert without_folder("values 1/2 are odd") == "values 1/2 are odd"


def test_numbers_are_written_as_people_write_them():
    assert [bayes_factor(np.log(v)) for v in (3, 140, 1 / 23, 6.3e5)] == ["3", "140", "1/23", "6.3 \u00d7 10\u2075"]
    assert bayes_factor(float("nan")) == "\u2013"
    assert number(-1.5) == "\u22121.50"
    assert [grid_of((n, 8)) for n in (4, 8, 11, 80)] == [
        f"{a} {n} x 8 grid" for a, n in (("a", 4), ("an", 8), ("an", 11), ("an", 80))
    ]
    assert listed(["a--b"]) == "a \u2013 b"
    assert listed(list("abcdefg"), 3) == "a, b, c and 4 more"
