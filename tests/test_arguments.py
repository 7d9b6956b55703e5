"""No function has more than seven arguments, apart from public functions and commands: more means a missing object."""

import ast
import inspect
from pathlib import Path

import mrfbayes as mb

SOURCE = Path(mb.__file__).parent
MOST = 7
# Kernels that work on other slices of their scratch at each call take them bare: packed into a view at every call, four
# arrays cost 70 % more than bare ones and eight 50 % (benchmarks/bench_arguments.py, results/arguments.md). A view
# that is made once costs nothing, so what stays the same from call to call is in one.
APART = "kernels"
# scikit-learn wants every setting of an estimator as an argument of its own, so that searches can set it.
ESTIMATOR = ("sklearn/markov_field.py", "__init__")
# All options of reading belong to `Data` and to nothing else.
READER = ("data/data.py", "__init__")
MOST_IN_KERNELS = 12
SLICES = (  # files of kernels that take slices
    *("calibration/blocks", "calibration/local", "data/counting", "estimation/stochastic_ascent", "exact/graph_binary"),
    *("exact/graph_logs", "exact/graph_steps", "exact/grid", "exact/grid_moments", "exact/grid_sample"),
    *("methods/bethe", "particles/bitgibbs", "particles/bitgibbs_block"),
    *("particles/cluster", "particles/completions", "particles/coupling", "particles/gibbs_tables"),
    *("run/independence", "structure/joint", "structure/line"),
)


def arguments(function):
    found = function.args
    names = [a.arg for a in (*found.posonlyargs, *found.args, *found.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def too_many(text, place, public):
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return {
        (place, node.name): len(arguments(node))
        for node in functions
        if len(arguments(node)) > MOST
        and node.name not in public
        and not place.startswith("cli/")
        and (place, node.name) not in (ESTIMATOR, READER)
    }


def test_functions_take_few_arguments():
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if not place.startswith(APART):
            found |= too_many(path.read_text(), place, set(mb.__all__))
    assert found == {}


def test_kernels_take_many_arguments_only_where_they_take_slices():
    found = {}
    for path in sorted((SOURCE / APART).rglob("*.py")):
        found |= too_many(path.read_text(), path.relative_to(SOURCE / APART).as_posix(), set())
    assert {place.removesuffix(".py") for place, _ in found} <= set(SLICES)
    assert max(found.values()) <= MOST_IN_KERNELS


def test_the_check_sees_one_too_many():
    text = "def f(a, b, c, d, *, e, f, g, h): ..."
    assert too_many(text, "posterior/x.py", set()) == {("posterior/x.py", "f"): 8}
    assert not too_many(text, "posterior/x.py", {"f"})
    assert not too_many(text.replace(", h", ""), "posterior/x.py", set())


VERBS = (
    *("sample", "sample_many", "select", "select_effects", "compare_groups", "estimate", "evidence", "likelihood"),
    *("target", "fit", "compare", "prior_sensitivity", "predictive_check"),
)
THIRD = {"sample": "method", "likelihood": "method"}  # the only other positional arguments


def test_verbs_take_model_and_data_first():
    for name in set(VERBS) - {"fit", "predictive_check"}:
        parameters = list(inspect.signature(getattr(mb, name)).parameters.values())
        positional = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        assert positional == ["model", "data", *([THIRD[name]] if name in THIRD else [])], name


def test_verbs_default_to_a_fresh_seed_and_one_prior():
    for name in VERBS:
        parameters = inspect.signature(getattr(mb, name)).parameters
        assert parameters["rng"].default is None, name
        assert "prior" not in parameters or parameters["prior"].default in ("default", None), name


def test_types_of_data_and_priors_say_something():
    for name in VERBS:
        given = inspect.unwrap(getattr(mb, name)).__annotations__
        for argument in {"data", "source", "prior", "slab", "edges", "estimate", "start"} & set(given):
            assert given[argument] not in ("object", "Any"), (name, argument)
