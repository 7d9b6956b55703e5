"""Planar fields against enumeration, the grid recursion, and a Kac-Ward matrix made another way."""

import numpy as np
import pytest

import mrfbayes as mb
import oracles
import oracles_planar
from mrfbayes.base.random_streams import kernel_state
from mrfbayes.exact import choice
from mrfbayes.exact.choice import takes_planar
from mrfbayes.exact.planar import PlanarRecursion
from mrfbayes.exact.planar_drawing import draw
from mrfbayes.exact.quantities import covariance_w, cumulants_along, log_partition_w, moments_w
from mrfbayes.exact.recursions import GridRecursion


def fields_on(nodes, pairs, n):
    """A field of agreement coins with a coin on each of some nodes."""
    agree, one = [[0, 1], [1, 0]], [1, 0]
    factors = [mb.Factor((f"v{u}", f"v{v}"), outcomes=agree) for u, v in pairs]
    factors += [mb.Factor((f"v{u}",), outcomes=one) for u in nodes]
    return mb.Model([f"v{i}" for i in range(n)], factors)


GRID = oracles.grid_pairs(3, 3)
MODELS = {
    "grid": mb.grid(3, 4),
    "grid with a hole": mb.graph(GRID[(GRID != 4).all(axis=1)], nodes=range(9)),
    "grid without some edges": mb.graph(GRID[[0, 1, 2, 4, 5, 7, 8, 10, 11]], nodes=range(9)),
    "complete on four": mb.graph([(i, j) for i in range(4) for j in range(i)]),
    "wheel": mb.graph([(0, i) for i in range(1, 8)] + [(i, i % 7 + 1) for i in range(1, 8)]),
    "star": mb.graph([(0, i) for i in range(1, 8)]),
    "pieces": mb.graph([(0, 1), (1, 2), (2, 0), (3, 4), (5, 6), (6, 7), (7, 8), (8, 5), (5, 7)], nodes=range(11)),
    "bridge": mb.graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)]),
    "one node": mb.graph([(0, 1)], nodes=range(2)),
    "fields on one face": fields_on([0, 1, 3, 4], GRID, 9),
    "fields around": fields_on([0, 1, 2, 5, 8, 7, 6, 3], GRID, 9),
    "fields on a path": fields_on([0, 1, 2, 3], [(0, 1), (1, 2), (2, 3)], 4),
}


@pytest.fixture(params=MODELS, scope="module")
def case(request):
    model = MODELS[request.param]
    rng = np.random.default_rng(5)
    row = model.lowering.forward.row
    field = np.zeros(model.n_nodes)
    fielded = np.unique(row[row < model.n_nodes])
    field[fielded] = rng.normal(size=fielded.size)
    coupling = rng.normal(scale=1.5, size=model.n_edges)
    return PlanarRecursion(draw(model)), field, coupling, np.asarray(model.edges), fielded


def test_against_enumeration(case):
    found, field, coupling, pairs, fielded = case
    mean, covariance, third = oracles.binary_cumulants(field, coupling, pairs)
    log_z = oracles.binary_log_z(field, coupling, pairs)
    assert found.log_z(field, coupling) == pytest.approx(log_z, rel=1e-13)
    value, nodes, edges = found.moments(field, coupling)
    assert value == pytest.approx(log_z, rel=1e-13)
    known = np.concatenate([fielded, field.size + np.arange(coupling.size)])
    np.testing.assert_allclose(np.concatenate([nodes, edges])[known], mean[known], atol=1e-14)
    along = np.zeros(mean.size)
    along[known] = np.random.default_rng(1).normal(size=known.size)
    (first, second) = next(found.series(field, coupling, iter([along]), 2))
    (only,) = next(found.series(field, coupling, iter([along]), 1))
    np.testing.assert_allclose(only[known], (covariance @ along)[known], atol=1e-13)
    np.testing.assert_allclose(first[known], (covariance @ along)[known], atol=1e-13)
    np.testing.assert_allclose(second[known], np.einsum("abc,b,c->a", third, along, along)[known], atol=1e-12)
    matrix = np.zeros_like(covariance)
    for which, columns in found.covariance_columns(field, coupling):
        matrix[:, which] = columns
    np.testing.assert_allclose(matrix[np.ix_(known, known)], covariance[np.ix_(known, known)], atol=1e-13)


def test_draws_have_the_right_law_and_know_their_probability(case):
    found, field, coupling, pairs, _ = case
    probabilities = oracles.binary_probabilities(field, coupling, pairs)
    x, log_probability = found.sample_with_probability(field, coupling, 4_000, kernel_state(np.random.SeedSequence(3)))
    code = x.astype(int) @ (1 << np.arange(field.size)[::-1])
    np.testing.assert_allclose(log_probability, np.log(probabilities[code]), atol=1e-11)
    assert oracles.chi_square(np.bincount(code, minlength=probabilities.size), probabilities) > 1e-6
    if pairs.size > 2:
        wrong = oracles.binary_probabilities(field, coupling + 0.5, pairs)
        assert oracles.chi_square(np.bincount(code, minlength=wrong.size), wrong) < 1e-6


STRENGTHS = {
    "mixed": lambda rng, m: rng.uniform(0.05, 0.95, size=m),
    "ordered": lambda rng, m: np.full(m, 0.95),
    "antiferromagnetic": lambda rng, m: np.full(m, 0.05),
    "none": lambda rng, m: np.full(m, 0.5),
    "frustrated": lambda rng, m: rng.choice([0.03, 0.97], size=m),
}


@pytest.mark.parametrize("kind", STRENGTHS)
@pytest.mark.parametrize("shape", [(7, 7), (12, 12), (10, 30)])
def test_grids_against_the_grid_recursion(shape, kind):
    model = mb.grid(*shape)
    theta = STRENGTHS[kind](np.random.default_rng(8), model.n_edges)
    parts = np.zeros(model.n_nodes), np.log(theta) - np.log1p(-theta)
    found, other = PlanarRecursion(draw(model)), GridRecursion(model)
    value, _, mean = other.moments(*parts)
    assert found.log_z(*parts) == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(found.moments(*parts)[2], mean, atol=1e-10)
    _, at_ends, error = found.dissection.gradient_at_ends(2 * theta - 1)
    np.testing.assert_allclose(theta + 2 * theta * (1 - theta) * at_ends, mean, atol=1e-10)
    assert error < 1e-9


@pytest.mark.parametrize("signs", [[1.0], [-1.0, 1.0]])
@pytest.mark.parametrize("keep", [1.0, 0.7])
def test_triangulations_against_a_sparse_factorisation(keep, signs):
    rng = np.random.default_rng(11)
    places, pairs = oracles_planar.delaunay_pairs(150, keep, rng)
    coupling = rng.uniform(0.1, 2.0, size=len(pairs)) * rng.choice(signs, size=len(pairs))
    model = mb.graph(pairs, nodes=range(150))
    found = PlanarRecursion(draw(model))
    nothing = np.zeros(150)
    log_z = oracles_planar.kac_ward_log_z(places, pairs, coupling)
    assert found.log_z(nothing, coupling) == pytest.approx(log_z, rel=1e-12)
    mean, step = found.moments(nothing, coupling)[2], 1e-5
    for e in (0, 60, len(pairs) - 1):
        moved = [
            oracles_planar.kac_ward_log_z(places, pairs, coupling + s * step * (np.arange(len(pairs)) == e))
            for s in (-1, 1)
        ]
        assert mean[e] == pytest.approx((moved[1] - moved[0]) / (2 * step), abs=1e-8)
    x, log_probability = found.sample_with_probability(nothing, coupling, 3, kernel_state(np.random.SeedSequence(1)))
    agree = x[:, pairs[:, 0]] == x[:, pairs[:, 1]]
    np.testing.assert_allclose(log_probability, agree @ coupling - log_z, atol=1e-9)


def test_lost_digits_are_refused_or_left_to_the_other_recursion():
    model = mb.grid(12, 12)
    theta = np.random.default_rng(3).choice([1e-4, 1 - 1e-4], size=model.n_edges)
    parts = np.zeros(model.n_nodes), np.log(theta) - np.log1p(-theta)
    alone, other = PlanarRecursion(draw(model)), GridRecursion(model)
    with pytest.raises(mb.CostError, match=r"expected counts of this planar field .*method="):
        alone.moments(*parts)
    with pytest.raises(mb.CostError, match=r"partition function of this planar field"):
        alone.log_z(*parts)
    with pytest.raises(mb.CostError, match="exact covariances of this planar field"):
        next(alone.covariance_columns(*parts))
    both = PlanarRecursion(draw(model), other)
    assert both.log_z(*parts) == other.log_z(*parts)
    np.testing.assert_array_equal(both.moments(*parts)[2], other.moments(*parts)[2])


def test_series_of_a_large_field_are_its_covariance_and_the_change_of_it():
    """Past enumeration and tables: Cov v from a sparse factorisation, the third cumulant from two Cov v nearby."""
    model = mb.graph(oracles_planar.delaunay_pairs(400, 1.0, np.random.default_rng(1))[1])
    found, rng = PlanarRecursion(draw(model)), np.random.default_rng(2)
    field, coupling = np.zeros(model.n_nodes), rng.normal(scale=0.5, size=model.n_edges)
    along, step = np.concatenate([field, rng.normal(size=model.n_edges)]), 1e-4
    ((first, second),) = found.series(field, coupling, iter([along]), 2)
    product = sum(columns @ along[which] for which, columns in found.covariance_columns(field, coupling))
    np.testing.assert_allclose(first, product, atol=1e-12 * np.abs(product).max())
    ends = [next(found.series(field, coupling + h * along[field.size :], iter([along]), 1))[0] for h in (step, -step)]
    np.testing.assert_allclose(second, (ends[0] - ends[1]) / (2 * step), atol=1e-6 * np.abs(second).max())


@pytest.mark.parametrize("tied", [False, "direction"])
def test_quantities_of_a_grid_are_the_same_by_both(tied, monkeypatch):
    model = mb.grid(11, 11, tied=tied)
    w = np.random.default_rng(6).normal(scale=0.7, size=model.n_parameters)
    by_tables = log_partition_w(model, w), moments_w(model, w)[1]
    some = np.random.default_rng(7).normal(size=(2, model.n_parameters))
    columns = list(cumulants_along(model, w, some))
    for name in ("QUICK_SECONDS", "COLUMNS_SECONDS"):
        monkeypatch.setattr(choice, name, 0.0)
    monkeypatch.setattr(choice, "_table_seconds", lambda *_: np.inf)
    assert log_partition_w(model, w) == pytest.approx(by_tables[0], rel=1e-12)
    np.testing.assert_allclose(moments_w(model, w)[1], by_tables[1], rtol=1e-12)
    for one, two in zip(columns, cumulants_along(model, w, some), strict=True):
        np.testing.assert_allclose(one[0], two[0], atol=1e-12 * np.abs(one[0]).max())
        np.testing.assert_allclose(one[1], two[1], atol=1e-12 * np.abs(one[1]).max())
    covariance = covariance_w(model, w)
    np.testing.assert_allclose(some @ covariance, [one[0] for one in columns], atol=1e-10 * np.abs(columns[0]).max())


def test_parallel_factors_and_ties_across_edges(monkeypatch):
    """Two coins on one edge, and one coin on two others: as by tables."""
    agree = [[0, 1], [1, 0]]
    pairs = [(f"v{u}", f"v{v}") for u, v in GRID.tolist()]
    factors = [mb.Factor(pair, outcomes=agree) for pair in pairs[2:]]
    factors += [mb.Factor(pairs[4], outcomes=agree), mb.Factor(pairs[0], outcomes=agree, block="tied")]
    factors.append(mb.Factor(pairs[1], outcomes=agree, block="tied"))
    theta = np.random.default_rng(4).uniform(0.2, 0.9, size=12)
    results = []
    for has_tables in (True, False):
        if not has_tables:
            monkeypatch.setattr(choice, "_tables", lambda model, work: None)
        model = mb.Model([f"v{i}" for i in range(9)], factors)
        assert takes_planar(model, "log_z") is not has_tables
        counts, information = mb.expected_counts(model, theta), mb.fisher_information(model, theta)
        results.append(np.concatenate([[mb.log_partition(model, theta)], counts, information.ravel()]))
    np.testing.assert_allclose(results[1], results[0], atol=1e-10)


def test_maximum_likelihood_on_a_wide_grid():
    model = mb.grid(24, 24)
    theta = np.random.default_rng(2).uniform(0.5, 0.8, size=model.n_parameters)
    x = mb.simulate(model, theta, 40, sampler="exact", rng=1)
    found = mb.estimate(model, x, algorithm="exact", on_boundary="penalise")
    assert found.converged
    assert found.details["confirmed_step"] < 1e-6
    gradient = mb.Data(x).count(model).counts - 40 * mb.expected_counts(model, found.theta)
    if found.penalised:
        gradient = gradient + 1 - 2 * found.theta
    assert np.abs(gradient).max() < 1e-4
