"""No function has more than seven arguments, apart from public functions and commands: more means a missing object."""

import ast
from pathlib import Path

import mrfbayes as mb

SOURCE = Path(mb.__file__).parent
MOST = 7
# Kernels hand bare arrays to each other: a view would be taken apart and put together at every call.
APART = "kernels"
# scikit-learn wants every setting of an estimator as an argument of its own, so that searches can set it.
ESTIMATOR = ("sklearn/markov_field.py", "__init__")


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
        and (place, node.name) != ESTIMATOR
    }


def test_functions_take_few_arguments():
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if not place.startswith(APART):
            found |= too_many(path.read_text(), place, set(mb.__all__))
    assert found == {}


def test_the_check_sees_one_too_many():
    text = "def f(a, b, c, d, *, e, f, g, h): ..."
    assert too_many(text, "posterior/x.py", set()) == {("posterior/x.py", "f"): 8}
    assert not too_many(text, "posterior/x.py", {"f"})
    assert not too_many(text.replace(", h", ""), "posterior/x.py", set())
