"""Every public name has a numpydoc docstring, and the examples in them run."""

import ast
import doctest
import functools
import importlib
import inspect
import re
import textwrap

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import Validator, validate

import mrfbayes as mb

# GL08 no docstring, SS03 no period, PR01/PR02 parameters, PR04 types, PR07 descriptions, RT01/RT03 returned values
CHECKS = {"GL08", "SS01", "SS03", "PR01", "PR02", "PR04", "PR07", "RT01", "RT03"}
MODULES = ("plots", "bridges", "priors", "datasets", "sklearn")


def members(owner):
    """Yield the public methods and properties of a class, each under the class of the package that defines it."""
    for name in dir(owner):
        place = next((base for base in owner.__mro__ if name in vars(base)), owner)
        if name.startswith("_") or not place.__module__.startswith("mrfbayes"):
            continue
        value = vars(place).get(name)
        if inspect.isfunction(value) or isinstance(
            value, (property, classmethod, staticmethod, functools.cached_property)
        ):
            yield f"{place.__module__}.{place.__qualname__}.{name}"


def public_names():
    values = [getattr(mb, name) for name in mb.__all__]
    for module in [importlib.import_module(f"mrfbayes.{name}") for name in MODULES]:
        values += [getattr(module, name) for name in getattr(module, "__all__", vars(module)) if name[0] != "_"]
    names = {}
    for value in values:
        if not (inspect.isfunction(value) or inspect.isclass(value)) or not value.__module__.startswith("mrfbayes"):
            continue
        names[f"{value.__module__}.{value.__qualname__}"] = None
        if inspect.isclass(value):
            names |= dict.fromkeys(members(value))
    return list(names)


def documented_fields(owner):
    """Names in the Parameters and Attributes of a class and of its bases."""
    for base in owner.__mro__[:-1]:
        document = NumpyDocString(inspect.cleandoc(vars(base).get("__doc__") or ""))
        for entry in document["Parameters"] + document["Attributes"]:
            yield from (part.strip("* ") for part in entry.name.split(","))


def faults(name):
    """Return the checks that a name fails; fields of a class may be documented as attributes."""
    found = {code: text for code, text in validate(name)["errors"] if code in CHECKS}
    target = Validator._load_obj(name)
    if inspect.isclass(target) and "PR01" in found:
        fields = {field for field in inspect.signature(target).parameters if field[0] != "_"}
        if fields <= set(documented_fields(target)):
            del found["PR01"]
    return found


NAMES = public_names()


@pytest.mark.parametrize("name", NAMES)
def test_docstring_is_numpydoc(name):
    assert faults(name) == {}


@pytest.mark.parametrize("name", NAMES)
def test_first_line_of_a_property_has_no_colon(name):
    """Sphinx reads what stands before it as the type."""
    target = Validator._load_obj(name)
    if not (inspect.isclass(target) or inspect.isroutine(target)):
        assert ": " not in inspect.getdoc(target).splitlines()[0]


def raised(target):
    """Names of the exceptions that a function or property itself raises, but for those within other functions."""
    source = getattr(target, "fget", None) or getattr(target, "func", None) or inspect.unwrap(target)
    body = ast.parse(textwrap.dedent(inspect.getsource(source))).body[0].body
    found, nodes = set(), list(body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            found.add(ast.unparse(node.exc.func).rpartition(".")[2])
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            nodes += ast.iter_child_nodes(node)
    return found - {
        "AttributeError",
        "NotImplementedError",
    }  # of the protocol of attributes, and of what kinds override


@pytest.mark.parametrize("name", [name for name in NAMES if not inspect.isclass(Validator._load_obj(name))])
def test_exceptions_are_documented(name):
    target = Validator._load_obj(name)
    document = NumpyDocString(inspect.getdoc(target))
    assert raised(target) <= {entry.type for entry in document["Raises"]}
    assert all(entry.desc for entry in document["Raises"])


def test_an_exception_without_its_section_is_noticed():
    assert raised(raises) == {"InputError"}


def raises(value):
    """Raise an error."""
    if value:
        raise mb.InputError("no")


@pytest.mark.parametrize("name", NAMES)
def test_what_a_docstring_cites_is_in_its_references(name):
    text = inspect.getdoc(Validator._load_obj(name))
    if re.search(r"\b(the|The) paper\b|Eq\. \(|\((19|20)\d\d\)", text):
        assert NumpyDocString(text)["References"]


def test_many_names_are_public():
    assert len(NAMES) > 200


def test_a_wrong_docstring_is_refused():
    assert set(faults(f"{__name__}.undocumented_parameter")) == {"PR01", "RT01", "SS03"}


def undocumented_parameter(value):
    """Return the value

    Parameters
    ----------
    """
    return value


def is_top_level(target):
    """Whether a name stands alone: a class, or a function of a module."""
    return inspect.isclass(target) or (inspect.isfunction(target) and target.__qualname__ == target.__name__)


TOP_LEVEL = [name for name in NAMES if is_top_level(Validator._load_obj(name))]


@pytest.mark.parametrize("name", TOP_LEVEL)
def test_classes_and_functions_have_examples_and_see_also(name):
    document = NumpyDocString(inspect.getdoc(Validator._load_obj(name)))
    assert document["Examples"], f"{name} has no example"
    assert document["See Also"], f"{name} says nowhere what belongs to it"


@pytest.mark.parametrize("name", TOP_LEVEL)
def test_see_also_names_what_is_there(name):
    """Names are those of the package, of the module of the entry, or of `mrfbayes.bridges` and `mrfbayes.plots`."""
    document = NumpyDocString(inspect.getdoc(Validator._load_obj(name)))
    places = [mb, *(importlib.import_module(f"mrfbayes.{module}") for module in MODULES)]
    for names, _ in document["See Also"]:
        for other, _ in names:
            assert any(is_there(place, other.removeprefix("mrfbayes.")) for place in places), f"{name}: {other}"


def is_there(place, dotted):
    """Whether a place has a dotted name; modules on the way are imported."""
    for part in dotted.split("."):
        if not hasattr(place, part):
            try:
                importlib.import_module(f"{place.__name__}.{part}")
            except (ImportError, AttributeError):
                return False
        place = getattr(place, part)
    return True


def test_a_name_that_is_nowhere_is_noticed():
    assert is_there(mb, "Posterior.save")
    assert is_there(mb, "bridges.jax.log_density")
    assert not is_there(mb, "Posterior.no_such_method")


def with_examples():
    for name in NAMES:
        target = Validator._load_obj(name)
        if ">>>" in (inspect.getdoc(target) or ""):
            yield name


@pytest.mark.parametrize("name", list(with_examples()))
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    document = inspect.getdoc(Validator._load_obj(name))
    test = doctest.DocTestParser().get_doctest(document, {}, name, None, None)
    messages = []
    result = doctest.DocTestRunner(optionflags=flags).run(test, out=messages.append)
    assert result.failed == 0, "".join(messages)
