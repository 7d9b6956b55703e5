"""The README's commands, verbatim and in order, on a file that is not in the repository."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd

from command_line import run

README = Path(__file__).resolve().parents[2] / "README.md"


def commands():
    text = README.read_text(encoding="utf-8")
    section = text[text.index("## One command") :]
    return re.search(r"```sh\n(.*?)```", section, re.DOTALL).group(1).strip().splitlines()


def test_the_commands_of_the_readme_run_as_they_stand(tmp_path):
    rng = np.random.default_rng(11)
    common = rng.standard_normal(150)
    answers = {f"q{k}": (common + rng.standard_normal(150) > 0.3 * k).astype(int) for k in range(1, 5)}
    pd.DataFrame({"id": np.arange(150), **answers}).to_csv(tmp_path / "answers.csv", index=False)
    assert len(commands()) == 7
    for command in commands():
        program, *words = shlex.split(command, comments=True)
        assert program == "mrfbayes"
        done = run(*words, cwd=tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    for name in (
        "results/report.html",
        "again/report.html",
        "edges.csv",
        "network.svg",
        "network.csv",
        "predicted.csv",
    ):
        assert (tmp_path / name).stat().st_size > 0, name
    first, again = ((tmp_path / folder / "summary.csv").read_text() for folder in ("results", "again"))
    assert first == again
