"""Result files as the commands take them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mrfbayes.results.posterior import Posterior


def load_posterior(path: str | os.PathLike[str]) -> Posterior:
    """The posterior in ``path``; other results are for Python only."""
    import mrfbayes as mb

    loaded = mb.load(path)
    if not isinstance(loaded, mb.Posterior):
        kind = type(loaded).__name__
        raise mb.InputError(
            f"{path} holds a {kind}, not a posterior of parameters: open it in Python with mrfbayes.load."
        )
    return loaded
