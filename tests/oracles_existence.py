"""Existence of the MLE by exact rational arithmetic over all configurations. Imports nothing of the package."""

from fractions import Fraction
from itertools import product


def _pivot(table, basis, row, column):
    lead = table[row][column]
    table[row] = [a / lead for a in table[row]]
    for other, line in enumerate(table):
        if other != row and line[column]:
            factor = line[column]
            table[other] = [a - factor * b for a, b in zip(line, table[row], strict=True)]
    basis[row] = column


def _improve(table, basis, n_columns):
    """Primal simplex with Bland's rule on the last line of ``table``; right-hand side in the last column."""
    while True:
        column = next((k for k in range(n_columns) if table[-1][k] < 0), None)
        if column is None:
            return
        ratios = [(line[-1] / line[column], basis[row], row) for row, line in enumerate(table[:-1]) if line[column] > 0]
        _pivot(table, basis, min(ratios)[2], column)


def face(points, mean):
    """Indices of the ``points`` (tuples of whole numbers) in the smallest face of their hull that holds ``mean``."""
    n, d = len(points), len(mean)
    lines = [[Fraction(1)] * n] + [[Fraction(point[j]) for point in points] for j in range(d)]
    right = [Fraction(1), *mean]
    for k, value in enumerate(right):
        if value < 0:
            lines[k], right[k] = [-a for a in lines[k]], -value
    m = d + 1
    unit = [[Fraction(int(a == b)) for b in range(m)] for a in range(m)]
    table = [[*line, *one, value] for line, one, value in zip(lines, unit, right, strict=True)]
    table.append([-sum(line[k] for line in table) for k in range(n)] + [Fraction(0)] * m + [-sum(right)])
    basis = list(range(n, n + m))
    _improve(table, basis, n)
    assert table[-1][-1] == 0, "the mean is outside the hull of the points"
    row = 0
    while row < len(basis):  # drop artificial columns; a row without a pivot is redundant
        if basis[row] >= n:
            column = next((k for k in range(n) if table[row][k]), None)
            if column is None:
                del table[row], basis[row]
                continue
            _pivot(table, basis, row, column)
        row += 1
    table = [[*line[:n], line[-1]] for line in table[:-1]]
    inside = {basis[r] for r, line in enumerate(table) if line[-1] > 0}
    for target in range(n):
        if target in inside:
            continue
        goal = [Fraction(-int(k == target)) for k in range(n)] + [Fraction(0)]
        for r, column in enumerate(basis):
            if goal[column]:
                factor = goal[column]
                goal = [a - factor * b for a, b in zip(goal, table[r], strict=True)]
        work = [*table, goal]
        basis = list(basis)
        _improve(work, basis, n)
        table = work[:-1]
        inside |= {basis[r] for r, line in enumerate(table) if line[-1] > 0}
    return sorted(inside)


def _reduce(vectors):
    """Reduced rows of the span of ``vectors``, by leading column."""
    rows = {}
    for vector in vectors:
        left = list(vector)
        for lead, row in rows.items():
            if left[lead]:
                factor = left[lead]
                left = [a - factor * b for a, b in zip(left, row, strict=True)]
        lead = next((k for k, a in enumerate(left) if a), None)
        if lead is None:
            continue
        left = [a / left[lead] for a in left]
        for other, row in rows.items():
            if row[lead]:
                factor = row[lead]
                rows[other] = [a - factor * b for a, b in zip(row, left, strict=True)]
        rows[lead] = left
    return rows


def _complement(rows, d):
    """Basis of the vectors orthogonal to reduced ``rows``."""
    basis = []
    for free in (k for k in range(d) if k not in rows):
        vector = [Fraction(0)] * d
        vector[free] = Fraction(1)
        for lead, row in rows.items():
            vector[lead] = -row[free]
        basis.append(vector)
    return basis


def verdict(points, rows):
    """(exists, coordinates on the boundary) for observed ``rows`` among all ``points``, tuples of whole numbers."""
    d = len(points[0])
    mean = [Fraction(sum(row[j] for row in rows), len(rows)) for j in range(d)]
    distinct = sorted(set(points))
    inside = [distinct[k] for k in face(distinct, mean)]

    def differences(members):
        return [[Fraction(a - b) for a, b in zip(point, members[0], strict=True)] for point in members[1:]]

    everything, within = _reduce(differences(distinct)), _reduce(differences(inside))
    if len(everything) == len(within):
        return True, ()
    flat = _complement(everything, d)  # no probability changes along these
    normal = _complement(_reduce(differences(inside) + flat), d)
    return False, tuple(j for j in range(d) if any(vector[j] for vector in normal))


def configurations(states):
    """All configurations of variables with so many states each."""
    return list(product(*(range(r) for r in states)))
