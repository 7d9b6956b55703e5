"""Public names that are loaded when first used.

Several public functions live in a module of the same name (`mrfbayes.estimate`, `mrfbayes.simulate`). Importing such
a module would put it where the function belongs, so a package made lazy here keeps its public names for itself.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
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
        return sorted({*self.__dict__, *self._places})


def make_lazy(package: str, places: Mapping[str, str]) -> None:
    """Give the package called ``package`` its lazy names."""
    module = sys.modules[package]
    module.__dict__["_places"] = dict(places)
    module.__class__ = LazyPackage
