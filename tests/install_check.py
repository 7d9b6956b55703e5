"""Builds wheel and sdist, installs each into a fresh environment outside the checkout, without constraints; uses it.

    python tests/install_check.py --out benchmarks/results/install.md
    python tests/install_check.py --python python3.12 python3.13
    python tests/install_check.py --python --wheels-for 3.12 3.13 3.14  # Pythons that are not here: are there wheels?

Every interpreter named gets the wheel, the first one also the sdist. "Used" means: the version is printed, the command
line answers, a field is simulated, counted and sampled, the result saved, loaded and reported, all in an empty folder.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
USE = """
import pathlib, sys, warnings
import mrfbayes as mb
place = pathlib.Path(mb.__file__).resolve()
assert "site-packages" in place.parts, place
assert (place.parent / "py.typed").is_file()
assert mb.datasets.load_adhd().x.shape[1] == 18
model = mb.grid(3, 3)
x = mb.simulate(model, 0.65, 300, rng=1, progress=False)
post = mb.sample(model, x, progress=False)
post.save("result.nc")
assert (mb.load("result.nc").draws == post.draws).all()
warnings.simplefilter("ignore")
mb.report(post, "report.html")
from importlib.metadata import version
python = ".".join(map(str, sys.version_info[:3]))
packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "polars", "xarray"))
print(f"mrfbayes {mb.__version__} on Python {python} with {packages}; posterior mean {post.mean.mean():.3f} for 0.65")
"""


def run(*command: str, cwd: Path, quiet: bool = True) -> str:
    """What a command prints; its last words where it fails. Nothing of the checkout is on its path."""
    place = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PIP_CONSTRAINT", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=cwd, env=place, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)[:200]} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done.stdout if quiet else done.stdout + done.stderr


def build(python: str, folder: Path) -> list[Path]:
    """Wheel and sdist, built in an environment of their own from a copy of what git has."""
    copy = folder / "source"
    copy.mkdir()
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", "HEAD"], capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(copy)], input=archive, check=True)
    run(python, "-m", "venv", str(folder / "builder"), cwd=folder)
    builder = str(folder / "builder" / "bin" / "python")
    run(builder, "-m", "pip", "install", "-q", "build", cwd=folder)
    run(builder, "-m", "build", "--outdir", str(folder / "dist"), str(copy), cwd=folder)
    return sorted((folder / "dist").iterdir(), key=lambda path: path.suffix != ".whl")


def install_and_use(python: str, package: Path, folder: Path) -> str:
    """One package in a fresh environment; a line that says what happened."""
    place = folder / f"{Path(python).name}-{package.suffix.strip('.')}"
    (place / "empty").mkdir(parents=True)
    run(python, "-m", "venv", str(place / "env"), cwd=place)
    new = place / "env" / "bin"
    started = time.perf_counter()
    run(str(new / "python"), "-m", "pip", "install", "-q", str(package), cwd=place)
    installed = time.perf_counter() - started
    said = run(str(new / "python"), "-c", USE, cwd=place / "empty").strip().splitlines()[-1]
    assert "Usage" in run(str(new / "mrfbayes"), "--help", cwd=place / "empty")
    run(str(new / "python"), "-m", "pip", "check", cwd=place)
    return f"- `{package.name}` ({package.stat().st_size / 1e6:.1f} MB): {said}; installed in {installed:.0f} s"


def resolve(python: str, package: Path, version: str, folder: Path) -> str:
    """Whether every dependency has a wheel for another Python, which need not be here; a line that says so."""
    place = ["--target", str(folder / f"for-{version}"), "--python-version", version, "--only-binary", ":all:"]
    command = [python, "-m", "pip", "install", "--dry-run", "--ignore-installed", *place, str(package)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if line.startswith("ERROR")), "no reason given")
        return f"- Python {version}, not run: {reason}"
    found = [line for line in done.stdout.splitlines() if line.startswith("Would install")][-1].split()[2:]
    known = [name for name in found if name.split("-")[0] in ("numpy", "numba", "polars", "h5py", "scipy")]
    return f"- Python {version}, not run: wheels for all {len(found) - 1} dependencies ({', '.join(known)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", nargs="*", default=[sys.executable])
    parser.add_argument("--wheels-for", nargs="*", default=[], help="Pythons that are not here: are there wheels?")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    pythons = [shutil.which(python) or python for python in arguments.python]
    lines = [f"python tests/install_check.py {' '.join(sys.argv[1:])}", ""]
    with tempfile.TemporaryDirectory(prefix="mrfbayes-install-") as name:
        folder = Path(name)
        wheel, sdist = build(sys.executable, folder)
        for number, python in enumerate(pythons):
            for package in (wheel, sdist) if number == 0 else (wheel,):
                lines.append(install_and_use(python, package, folder))
                print(lines[-1], flush=True)
        builder = str(folder / "builder" / "bin" / "python")
        for version in arguments.wheels_for:
            lines.append(resolve(builder, wheel, version, folder))
            print(lines[-1], flush=True)
    if arguments.out is not None:
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
