"""What the compiled moves of a search are given, for a small field and its data."""

from typing import NamedTuple

import numpy as np

import mrfbayes as mb
from mrfbayes.kernels.structure.line import LineView, line_view
from mrfbayes.kernels.structure.moves import BlockView, MoveView, SearchState
from mrfbayes.structure.anchors import SearchProblem
from mrfbayes.structure.moves import Coordinates, search_prior
from mrfbayes.structure.problem import edge_factors, graph_prior
from mrfbayes.structure.recursion import exact_engine
from mrfbayes.structure.search import SearchEngine


class SearchParts(NamedTuple):
    """The moves, and all that an engine takes beside them."""

    problem: SearchProblem
    engine: SearchEngine
    moves: MoveView
    blocks: BlockView
    line: LineView
    state: SearchState


def search_parts(model, rows, edges="bernoulli(0.5)", engine="states"):
    """The parts of a search with one group of data."""
    coordinates = Coordinates(np.ones((1, 1)), (search_prior(model, "normal(0, 1)", None),), (True,))
    data, factors = mb.Data(rows).count(model), edge_factors(model)
    problem = SearchProblem(factors, (data,), coordinates, graph_prior(model, edges))
    made, blocks = exact_engine(model, engine)
    moves = problem.moves(blocks)
    most, size = int(np.prod(np.sort(model.states)[-2:])), int(factors.edge_size.max())
    line = line_view(1, most, moves.node_prior.shape[2] - 1, size if size > 1 else 0)
    state = problem.states(1, 1, np.random.SeedSequence(4))[0]
    own = SearchState(**{name: state[name] for name in SearchState._fields})
    return SearchParts(problem, made, moves, blocks.view(factors.first, factors.size), line, own)
