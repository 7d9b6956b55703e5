"""Parameters as the command line takes them: weights theta, or couplings J and h at a temperature."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from mrfbayes.base.errors import InputError

if TYPE_CHECKING:
    from mrfbayes.model.field import Model
    from mrfbayes.model.ising import Ising


def read_theta(
    model: Model, theta: str, couplings: str, fields: str, temperature: float
) -> float | list[float] | Ising:
    """What `mrfbayes.simulate` takes: one number, a weight per parameter, or an `mrfbayes.Ising`."""
    if theta == "ising":
        from mrfbayes.model.ising import Ising

        if not couplings:
            raise InputError("ising: give the couplings, as --J 0.4 or --J couplings.csv (columns edge, J).")
        return Ising(_number_or_table(couplings, "--J"), _number_or_table(fields, "--h"), temperature)
    if couplings or fields != "0" or temperature != 1.0:
        raise InputError(f"--J, --h and --temperature go with 'ising' in place of theta, not with {theta!r}.")
    found = _number_or_table(theta, "theta")
    if isinstance(found, float):
        return found
    absent = [name for name in model.parameters if name not in found]
    unknown = [name for name in found if name not in model.parameters]
    if absent or unknown:
        what = f"no parameter is called {unknown[0]!r}" if unknown else f"parameter {absent[0]!r} is not there"
        raise InputError(f"theta {theta}: {what}; the model has {', '.join(model.parameters[:5])}, ...")
    return [found[name] for name in model.parameters]


def _number_or_table(text: str, name: str) -> float | dict[str, float]:
    """A number, or the first two columns of a CSV file as a mapping from names to numbers."""
    try:
        return float(text)
    except ValueError:
        pass
    path = Path(text)
    if not path.is_file():
        raise InputError(f"{name} {text}: neither a number nor a file.")
    found: dict[str, float] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, row in enumerate(csv.reader(file), start=1):
            if not row:
                continue
            try:
                found[row[0].strip()] = float(row[1])
            except (ValueError, IndexError):
                if number > 1:  # the first line may hold names of the columns
                    raise InputError(f"{path}:{number}: expected a name and a number, as a--b,0.5.") from None
    return found
