"""Refuse a release whose tag, version, citation and changelog disagree: ``python tests/release_check.py v1.0.0``."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def problems(tag: str, root: Path = ROOT) -> list[str]:
    """What is wrong with releasing the tree at ``root`` as ``tag``."""

    def text(name: str) -> str:
        return (root / name).read_text(encoding="utf-8")

    version = re.search(r'^__version__ = "(.*)"$', text("src/mrfbayes/__init__.py"), re.M).group(1)
    heading = re.search(r"^## (.*)$", text("CHANGELOG.md"), re.M).group(1)
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, the package is version {version}: tag it v{version}, or change __version__.")
    if f"\nversion: {version}\n" not in text("CITATION.cff"):
        found.append(f"CITATION.cff does not say version: {version}.")
    if not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d{{2}}-\d{{2}}\)", heading):
        found.append(f"CHANGELOG.md begins with '## {heading}': write '## {version} (YYYY-MM-DD)'.")
    return found


if __name__ == "__main__":
    found = problems(sys.argv[1])
    print("\n".join(found) or f"{sys.argv[1]} can be released")
    sys.exit(bool(found))
