"""Reading whole numbers and short labels from delimited text, as fast as the bytes come.

``text`` (uint8) consists of whole lines and ends with a newline. Column j of the text goes to column ``place[j]`` of
``out``; where that is negative the cell may hold anything on one line. Every parser stops before the first line that
is not of its kind and returns the number of rows parsed and the position after them.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.jit import kernel

_NEWLINE, _RETURN, _QUOTE = 10, 13, 34
_PLUS, _MINUS, _POINT, _ZERO, _NINE = 43, 45, 46, 48, 57
_BLANK, _TILDE = 32, 126  # printable ASCII
_MAX_DIGITS = 4


@kernel
def parse_numbers(text, delimiter, place, out):
    """Parse lines of small whole numbers into ``out`` (k, c) int16; "1.0" is 1."""
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
            at = _step_over(text, delimiter, at, column == n_columns - 1)
            if at < 0:
                return row, start
        row += 1
    return row, at


@kernel
def parse_labels(text, delimiter, place, book, lengths, sizes, out):
    """Parse lines of short ASCII labels into ``out`` (k, c) uint8, positions in each column's list of known labels.

    The lists are ``book`` (c, capacity, width) bytes with ``lengths`` (c, capacity) and ``sizes`` (c,); new labels are
    appended. A label that is too long, one too many, or one with doubled quotes ends the parsing.
    """
    at, row = 0, 0
    n_columns = place.size
    while at < text.size and row < out.shape[0]:
        start = at
        for column in range(n_columns):
            to = place[column]
            if to < 0:
                at = _skip_cell(text, delimiter, at)
            else:
                quoted = text[at] == _QUOTE
                at += 1 if quoted else 0
                first = at
                while not _ends_cell(text[at], delimiter, quoted):
                    at += 1
                code = _find_label(text[first:at], book[to], lengths[to], sizes[to])
                if code < 0 or (quoted and text[at] != _QUOTE):
                    return row, start
                sizes[to] = max(sizes[to], code + 1)
                out[row, to] = code
                at += 1 if quoted else 0
            at = _step_over(text, delimiter, at, column == n_columns - 1)
            if at < 0:
                return row, start
        row += 1
    return row, at


@kernel
def _ends_cell(byte, delimiter, quoted):
    if byte == _NEWLINE:
        return True
    if quoted:
        return byte == _QUOTE
    return byte in (delimiter, _RETURN)


@kernel
def _find_label(label, book, lengths, size):
    """Position of ``label`` in the list, appended if it is new; -1 where it cannot be."""
    for code in range(size):
        if lengths[code] == label.size:
            k = 0
            while k < label.size and book[code, k] == label[k]:
                k += 1
            if k == label.size:
                return code
    if size == book.shape[0] or label.size > book.shape[1]:
        return -1
    for k in range(label.size):
        if not _BLANK <= label[k] <= _TILDE or label[k] == _QUOTE:
            return -1
        book[size, k] = label[k]
    lengths[size] = label.size
    return size


@kernel
def _step_over(text, delimiter, at, is_last):
    """Position after the delimiter, or after the line's end for the last cell; -1 where it is not there."""
    if not is_last:
        return at + 1 if text[at] == delimiter else -1
    if text[at] == _RETURN:
        at += 1
    return at + 1 if text[at] == _NEWLINE else -1


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
