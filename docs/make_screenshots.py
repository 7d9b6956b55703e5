"""Makes the screenshots of the README: runs `mrfbayes fit` on a questionnaire, and photographs terminal and report.

python docs/make_screenshots.py        # or: make screenshots; needs Chromium and npm, see the Makefile
"""

from __future__ import annotations

import csv
import html
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import mrfbayes as mb

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
COMMAND = 'fit answers.csv --prior "normal(0, 1)" --title "Attention in 355 children" --out results'
TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #fff; }}
pre {{ display: inline-block; margin: 0; padding: 18px 22px; border-radius: 10px; background: #1c2025; color: #e9ecf0;
  font: 14px/1.5 "DejaVu Sans Mono", ui-monospace, Menlo, Consolas, monospace; }}
b {{ color: #7cc0ee; font-weight: 600; }}</style><pre id="screen"><b>$ mrfbayes {command}</b>
{output}</pre>"""


def photograph(page: Path, out: Path, *options: str) -> None:
    """A picture of a page."""
    subprocess.run(["node", ROOT / "tests" / "report" / "browser" / "screenshot.mjs", page, out, *options], check=True)


def main() -> None:
    """Run, and photograph."""
    import shlex

    data = mb.datasets.load_adhd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "answers.csv").open("w", newline="") as file:
            csv.writer(file).writerows([data.nodes[:9], *data.x[:, :9].tolist()])
        run = [sys.executable, "-m", "mrfbayes", *shlex.split(COMMAND)]
        environment = {**os.environ, "COLUMNS": "92"}
        done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=True, env=environment)
        terminal = folder / "terminal.html"
        terminal.write_text(TERMINAL.format(command=html.escape(COMMAND), output=html.escape(done.stdout.rstrip())))
        photograph(terminal, PICTURES / "terminal.png", "900", "700", "light", "#screen")
        report = folder / "results" / "report.html"
        photograph(report, PICTURES / "report.png", "1280", "1180", "light")
        photograph(report, PICTURES / "report_network.png", "1024", "900", "dark", "#network")


if __name__ == "__main__":
    main()
