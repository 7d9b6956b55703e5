"""The blocks of Python code in CONTRIBUTING.md."""

import re
from pathlib import Path

TEXT = (Path(__file__).resolve().parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^( *)```python\n(.*?)^ *```", TEXT, re.DOTALL | re.MULTILINE)
SOURCES = ["\n".join(line[len(indent) :] for line in body.splitlines()) for indent, body in BLOCKS]


def skeleton(name):
    """The namespace of the block that defines ``name``."""
    (source,) = (text for text in SOURCES if re.search(rf"^(?:def|class) {name}\(", text, re.MULTILINE))
    space = {"__name__": "skeleton"}
    exec(compile(source, "CONTRIBUTING.md", "exec"), space)
    return space[name]
