"""The names of the public interface are a promise."""

import importlib
import pkgutil
import types

import pytest

import mrfbayes as mb
from mrfbayes import plots

PROMISED = [
    *("grid", "graph", "Model", "Factor", "log_partition", "expected_counts", "fisher_information", "cost", "simulate"),
    *("Data", "fit", "estimate", "likelihood", "sample", "load", "compare", "InputError", "CostError", "MRFWarning"),
    *("marginals", "joint", "most_probable", "log_probability", "annealed_log_partition"),
    *("thermodynamics", "correlations", "population_counts"),
    *("plots", "priors", "segment", "Segmentation"),
]


def walk():
    return [module.name for module in pkgutil.walk_packages(mb.__path__, "mrfbayes.")]


@pytest.mark.parametrize("package", [mb, plots], ids=["mrfbayes", "plots"])
def test_every_listed_name_is_there_and_only_those(package):
    assert sorted(set(package.__all__) - {"__version__"}) == sorted(package._places)
    for name in package.__all__:
        assert getattr(package, name) is not None


@pytest.mark.parametrize("package", [mb, plots], ids=["mrfbayes", "plots"])
def test_dir_shows_public_names_only(package):
    shown = {name for name in dir(package) if not name.startswith("__")}
    assert shown == set(package.__all__) - {"__version__"}


def test_the_promised_names_are_listed():
    assert set(PROMISED) <= set(mb.__all__)


def test_importing_a_module_does_not_take_a_functions_place():
    for name in walk():
        importlib.import_module(name)
    for name in PROMISED:
        value = getattr(mb, name)
        assert isinstance(value, types.ModuleType) == (name in ("plots", "priors")), name
    assert callable(plots.field)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = mb.nonsense
