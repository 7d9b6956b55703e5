"""A lazy package loads a module when one of its names is used, and keeps its names for itself."""

import importlib
import sys

import pytest

from mrfbayes.base.lazy import make_lazy

SOURCE = """
from typing import TYPE_CHECKING

__version__ = "3"
if TYPE_CHECKING:
    from lazy_case import tools
    from lazy_case.measure import measure
    from lazy_case.tools import hammer
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "lazy_case"
    folder.mkdir()
    (folder / "__init__.py").write_text(SOURCE)
    (folder / "measure.py").write_text("def measure():\n    return 7\n")
    (folder / "tools.py").write_text("hammer = 'a hammer'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import lazy_case

    make_lazy("lazy_case")
    yield lazy_case
    for name in [name for name in sys.modules if name.partition(".")[0] == "lazy_case"]:
        del sys.modules[name]


def test_a_module_is_loaded_when_its_name_is_first_used(package):
    assert package.__all__ == ["__version__", "hammer", "measure", "tools"]
    assert "lazy_case.tools" not in sys.modules
    assert package.hammer == "a hammer"
    assert "lazy_case.measure" not in sys.modules
    assert package.tools is sys.modules["lazy_case.tools"]


def test_a_function_keeps_its_place_from_the_module_of_the_same_name(package):
    """Importing a module puts it into its package under its own name, where the function belongs."""

    assert importlib.import_module("lazy_case.measure").measure() == 7
    assert package.measure() == 7


def test_unknown_names_raise_attribute_error(package):
    with pytest.raises(AttributeError, match="'lazy_case' has no attribute 'saw'"):
        package.saw  # noqa: B018
    assert "saw" not in dir(package)
    assert "hammer" in dir(package)
