# Every target sets up what it needs in .venv, from a bare clone: Python 3.11+ and the package registry are enough.
SHELL := /bin/bash
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
# What catches most mistakes in under half a minute, once the kernels are compiled.
QUICK := tests/model tests/run tests/data/test_statistics.py tests/kernels/base/test_jit.py tests/kernels/base/test_random.py \
	tests/results/test_diagnostics.py tests/exact/test_quantities.py tests/test_priors.py tests/test_public_names.py

.PHONY: proofs repeats fuzz chaos mutants trust-page lock coverage order demo test quick lint types imports check comparison paper paper-run paper-larger paper-times evidence browser gallery screenshots docs site-browser r-page slow install-check clean

demo: .venv/.core
	@$(BIN)/mrfbayes demo

test: lint types imports check

quick: .venv/.test
	@$(BIN)/ruff check -q src tests
	@$(PYTEST) -x $(QUICK)

lint: .venv/.test
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks

types: .venv/.test
	$(BIN)/mypy

imports: .venv/.test
	$(BIN)/lint-imports

# Two processes fill two cores: more threads in each would only wait for one another. An idle one takes half of what the
# other has left.
check: .venv/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(PYTEST) -n 2 --dist worksteal

comparison: .venv/.core
	$(BIN)/python benchmarks/comparison_table.py

# Tables, figures and verdicts of the paper's simulations, from the committed results.
paper: .venv/.core
	$(BIN)/mrfbayes reproduce --profile standard --no-run --out paper

# Runs what is still missing of those results; Stop it at any time: it goes on.
WORKERS ?= 1
paper-run: .venv/.test
	$(BIN)/mrfbayes reproduce --profile standard --workers $(WORKERS) --out paper

# Fields beyond the paper's sizes (about 30 minutes of a core), and run times on an idle core; both go on where they stopped.
paper-larger: .venv/.test
	$(BIN)/python benchmarks/larger_fields.py

paper-times: .venv/.test
	$(BIN)/python benchmarks/paper_times.py --wait

# What the page docs/evidence.md says: about an hour. Reinis data: make evidence REINIS="--reinis reinis.csv"
evidence: .venv/.test
	$(BIN)/python benchmarks/evidence/run.py $(REINIS)
	$(BIN)/python benchmarks/evidence/intervals.py
	$(BIN)/python benchmarks/evidence/summary.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/evidence/dense.py

# The report in headless Chromium (apt-get install chromium npm): no console error, no request, axe-core, sorting, print.
browser: .venv/.core
	cd tests/report/browser && npm install --no-audit --no-fund --silent
	$(BIN)/python tests/report/browser/pages.py build/browser
	node tests/report/browser/check.mjs build/browser benchmarks/results/browser.md

# The site: runs its pages (those that changed), one on each core, ends on any warning, needs no network.
docs: .venv/.test
	$(BIN)/python -m sphinx -q -W --keep-going -j auto -d build/doctrees -b html docs build/site
	@echo "open build/site/index.html"

# Every page of the site in headless Chromium, at two widths, light and dark: no error, no request, no dead link, contrast.
site-browser: docs
	cd tests/report/browser && npm install --no-audit --no-fund --silent
	node tests/report/browser/site.mjs build/site build/site-pictures benchmarks/results/site_browser.md

# The R lines of the page for R users (apt-get install r-base-core r-cran-reticulate r-cran-qgraph).
r-page: .venv/.test
	$(BIN)/python tests/r_page.py --out benchmarks/results/r_page.md

gallery: .venv/.core
	$(BIN)/python docs/make_gallery.py

screenshots: .venv/.core
	cd tests/report/browser && npm install --no-audit --no-fund --silent
	$(BIN)/python docs/make_screenshots.py

slow: .venv/.test
	$(PYTEST) --timeout 36000 tests/slow

# Long checks that write every finished unit to benchmarks/results/trust/ and go on from there. A part: make fuzz SECONDS=600
SECONDS ?= 36000
proofs fuzz chaos mutants: .venv/.test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/trust/$@.py --seconds $(SECONDS)

# NUTS by NumPyro, BlackJAX and PyMC on a field inside a hierarchical model, against `exact`.
bridges: .venv/.test
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[bridges]"
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/bridges/hierarchical.py

# One batch of every proof again, compared with the record: a difference means that `make proofs` has to run again.
repeats: .venv/.test
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/trust/proofs.py --repeat --seconds $(SECONDS)

# docs/trust.md and its figures, from the records of these checks.
trust-page: .venv/.test
	$(BIN)/python benchmarks/trust/proofs.py --figures > /dev/null
	$(BIN)/python benchmarks/trust/page.py

# Share of lines that the tests run, by file; kernels are compiled, so their own lines do not count.
coverage: .venv/.test
	$(BIN)/python -m pip install -q coverage
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m coverage run --source src/mrfbayes --omit '*/kernels/*' -m pytest
	$(BIN)/python -m coverage report --sort cover --skip-covered

# All tests in 20 random orders, with bounds of arrays checked, on one core, and beside two busy processes.
order: .venv/.test
	$(BIN)/python -m pip install -q --no-deps --upgrade --target build/order pytest-randomly
	PYTHONPATH=build/order:src $(BIN)/python benchmarks/trust/suite.py --seconds $(SECONDS)

# Versions and hashes of all that the package needs (requirements.lock), and a bill of materials of them (sbom.cdx.json).
lock:
	$(PYTHON) -m venv build/tools
	build/tools/bin/pip install -q uv cyclonedx-bom
	build/tools/bin/uv pip compile -q pyproject.toml -c constraints.txt --generate-hashes --python-version 3.11 \
		--no-annotate --custom-compile-command "make lock" -o requirements.lock
	build/tools/bin/uv venv -q --clear --python 3.11 build/locked
	build/tools/bin/uv pip install -q --require-hashes -r requirements.lock --python build/locked/bin/python
	build/tools/bin/cyclonedx-py environment build/locked/bin/python --pyproject pyproject.toml --output-reproducible \
		-o sbom.cdx.json

# Wheel and sdist in fresh environments, without constraints. Others: make install-check PYTHONS="python3.12 python3.13"
PYTHONS ?= $(PYTHON)
install-check:
	$(PYTHON) tests/install_check.py --python $(PYTHONS) --out benchmarks/results/install.md

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --upgrade pip

.venv/.core: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install -q -c constraints.txt -e .
	@touch $@

.venv/.test: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[test]"
	@touch .venv/.core $@

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
