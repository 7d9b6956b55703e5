"""Reading whole numbers from delimited text, as fast as the bytes come."""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.jit import kernel

_NEWLINE, _RETURN, _QUOTE = 10, 13, 34
_PLUS, _MINUS, _POINT, _ZERO, _NINE = 43, 45, 46, 48, 57
_MAX_DIGITS = 4


@kernel
def parse_numbers(text, delimiter, place, out):
    """Parse lines of small whole numbers until ``out`` (k, c) int16 is full or a line is anything else.

    ``text`` (uint8) ends with a newline. Column j of the text goes to column ``place[j]`` of ``out``; where that is
    negative the cell may hold anything on one line. "1.0" is 1. Returns rows parsed and the position after them.
    """
    at, row = 0, 0
    n_columns = place.size
    while at < text.size and row < out.shape[0]:
        start = at
        for column in range(n_columns):
            if place[column] < 0:
                at = _skip_cell(text, delimiter, at)
            else:
                negative = text[at] == _MINUS
                if negative or text[at] == _PLUS:
                    at += 1
                value, first = np.int64(0), at
                while _ZERO <= text[at] <= _NINE and at - first <= _MAX_DIGITS:
                    value = 10 * value + np.int64(text[at]) - _ZERO
                    at += 1
                digits = at - first
                if digits == 0 or digits > _MAX_DIGITS:
                    return row, start
                if text[at] == _POINT:
                    at += 1
                    while text[at] == _ZERO:
                        at += 1
                out[row, place[column]] = -value if negative else value
            if column < n_columns - 1:
                if text[at] != delimiter:
                    return row, start
            else:
                if text[at] == _RETURN:
                    at += 1
                if text[at] != _NEWLINE:
                    return row, start
            at += 1
        row += 1
    return row, at


@kernel
def _skip_cell(text, delimiter, at):
    """Position of the delimiter or newline that ends the cell at ``at``."""
    if text[at] == _QUOTE:
        at += 1
        while text[at] != _NEWLINE:
            if text[at] == _QUOTE:
                if text[at + 1] != _QUOTE:
                    return at + 1
                at += 1
            at += 1
        return at
    while text[at] != delimiter and text[at] != _NEWLINE and text[at] != _RETURN:
        at += 1
    return at
