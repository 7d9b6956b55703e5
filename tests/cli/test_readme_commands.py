"""The README's commands, verbatim and in order, on a file that is not in the repository."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

README = Path(__file__).resolve().parents[2] / "README.md"


def commands():
    text = README.read_text(encoding="utf-8")
    section = text[text.index("## From a file to a report") :]
    return re.search(r"```sh\n(.*?)```", section, re.DOTALL).group(1).strip().splitlines()


def test_the_commands_of_the_readme_run_as_they_stand(tmp_path):
    rng = np.random.default_rng(11)
    common = rng.standard_normal(150)
    answers = {f"q{k}": (common + rng.standard_normal(150) > 0.3 * k).astype(int) for k in range(1, 5)}
    pd.DataFrame({"id": np.arange(150), **answers}).to_csv(tmp_path / "answers.csv", index=False)
    program = tmp_path / "bin" / "mrfbayes"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mrfbayes "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    assert len(commands()) == 7
    for command in commands():
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=600
        )
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
