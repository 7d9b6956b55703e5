"""Where executed pages are kept: apart for each state of the package, so that a changed one runs every page anew."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path


def kept_in(folder: Path, package: Path) -> Path:
    """A folder below ``folder`` named after all files of the package; those of its earlier states are removed."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes())
    place = folder / digest.hexdigest()[:16]
    for earlier in set(folder.glob("*")) - {place}:
        shutil.rmtree(earlier) if earlier.is_dir() else earlier.unlink()
    return place
