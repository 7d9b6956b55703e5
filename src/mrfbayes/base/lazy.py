"""Public names that are loaded when first used.

Several public functions live in a module of the same name (`mrfbayes.estimate`, `mrfbayes.simulate`). Importing such
a module would put it where the function belongs, so a package made lazy here keeps its public names for itself.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType


class LazyPackage(ModuleType):
    """A package whose public names are looked up in ``_places``: name -> module below the package."""

    _places: Mapping[str, str]

    def __getattr__(self, name: str) -> object:
        if name not in self._places:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        module = importlib.import_module(f"{self.__name__}.{self._places[name]}")
        value = getattr(module, name) if self._places[name] != name or hasattr(module, name) else module
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and name in self._places:
            return
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted([*self._places, *(name for name in self.__dict__ if name.startswith("__"))])


def make_lazy(package: str) -> None:
    """Give a package its lazy names: those that its source imports for type checkers, ``if TYPE_CHECKING:``."""
    module = sys.modules[package]
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    places = {
        alias.name: (node.module or "").removeprefix(package).lstrip(".") or alias.name
        for block in ast.parse(source).body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    extra = [name for name in ("__version__",) if name in module.__dict__]
    module.__dict__.update(_places=places, __all__=sorted([*places, *extra]))
    module.__class__ = LazyPackage
