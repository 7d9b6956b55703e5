"""No function has more than seven arguments, apart from public functions and commands: more means a missing object."""

import ast
import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import mrfbayes as mb
import mrfbayes.sklearn
from mrfbayes import bridges

SOURCE = Path(mb.__file__).parent
MOST = 7
# Kernels that work on other slices of their scratch at each call take them bare, because a view that is made at every
# call counts references to its arrays. A view that is made once costs nothing: what stays the same is in one.
APART = "kernels"
# scikit-learn wants every setting of an estimator as an argument of its own, so that searches can set it.
ESTIMATOR = ("sklearn/markov_field.py", "__init__")
# All options of reading belong to `Data` and to nothing else.
READER = ("data/data.py", "__init__")
MOST_IN_KERNELS = 12
SLICES = (  # files of kernels that take slices
    *("calibration/blocks", "calibration/local", "data/counting", "estimation/stochastic_ascent", "exact/graph_binary"),
    *("exact/graph_logs", "exact/graph_steps", "exact/grid", "exact/grid_sample"),
    *("methods/bethe", "particles/bitgibbs", "particles/bitgibbs_block"),
    *("particles/cluster", "particles/coupling", "particles/gibbs", "particles/rows"),
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


VAGUE = re.compile(r"\b(object|Any)\b")
PACKAGES = (mb, mb.plots, mb.priors, mb.datasets, bridges, mrfbayes.sklearn)


def public_callables(package):
    """Functions, methods and properties that users call; results and targets are made by the package alone."""
    for name in getattr(package, "__all__", [name for name in dir(package) if not name.startswith("_")]):
        value = getattr(package, name)
        if not isinstance(value, type):
            yield f"{package.__name__}.{name}", value
            continue
        is_made_here = issubclass(value, (mb.Result, mb.Target))
        for member, method in inspect.getmembers(value):
            if not member.startswith("_") or (member == "__init__" and not is_made_here):
                yield f"{package.__name__}.{name}.{member}", getattr(method, "fget", method)


def vague_attributes(package):
    """Public attributes of public classes whose type says nothing."""
    classes = [value for name in package.__all__ if isinstance(value := getattr(package, name), type)]
    parts = {part for value in classes for part in value.__mro__ if part.__module__.startswith("mrfbayes")}
    return [
        f"{part.__name__}.{name}"
        for part in parts
        for name, given in vars(part).get("__annotations__", {}).items()
        if not name.startswith("_") and VAGUE.search(str(given))
    ]


def test_public_attributes_have_types_that_say_something():
    assert vague_attributes(mb) == []


def vague_types(function):
    """Names of arguments, and "return", whose type says nothing."""
    if not callable(function) or not str(getattr(function, "__module__", "")).startswith("mrfbayes"):
        return []
    signature = inspect.signature(function)
    types = {name: one.annotation for name, one in signature.parameters.items()} | {
        "return": signature.return_annotation
    }
    return [name for name, given in types.items() if VAGUE.search(str(given))]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_public_types_say_what_is_taken_and_returned(package):
    found = {name: vague for name, function in public_callables(package) if (vague := vague_types(function))}
    assert found == {}


def test_the_check_sees_a_vague_type():
    def vague(model: mb.Model, data: Mapping[str, object]) -> Any: ...

    vague.__module__ = "mrfbayes"
    assert vague_types(vague) == ["data", "return"]


def test_scale_and_interval_mean_the_same_everywhere():
    for package in (mb, mb.plots, bridges):
        for name, function in public_callables(package):
            known = inspect.signature(function).parameters if inspect.isfunction(function) else {}
            for argument, default in (("scale", None), ("ci_prob", 0.9)):
                if argument in known and "pair_tables" not in name and "__init__" not in name:  # scales of priors
                    assert known[argument].kind is inspect.Parameter.KEYWORD_ONLY, name
                    assert known[argument].default == default, name


def functions_of(first):
    """Public functions whose first argument has this name, and `fit`, which takes a model by name."""
    names = (name for name in mb.__all__ if inspect.isfunction(getattr(mb, name)))
    return [name for name in names if next(iter(inspect.signature(getattr(mb, name)).parameters), "") == first]


@pytest.mark.parametrize("name", [*functions_of("model"), "fit"])
def test_what_is_no_model_is_refused_by_its_type(name):
    function, data = getattr(mb, name), mb.Data({"a": [0, 1, 1, 0], "b": [1, 0, 1, 0]})
    needed = [
        one.name for one in inspect.signature(function).parameters.values() if one.default is one.empty and one.kind < 3
    ]
    if name == "select_effects":
        expected = "model: its couplings have no covariates"
    else:
        expected = "model: got Data, expected a mrfbayes Model"
    with pytest.raises(mb.InputError, match=expected):
        function(**{**dict.fromkeys(needed, data), "model": data, **({"n": 3} if "n" in needed else {})})


def test_a_check_of_what_is_no_posterior_is_refused_by_its_type():
    with pytest.raises(mb.InputError, match=r"posterior: got Model, expected a Posterior"):
        mb.predictive_check(mb.grid(1, 2))
