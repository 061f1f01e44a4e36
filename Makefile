# The one command surface: people, hooks and CI call these targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
JUDGE := .venv-judge
RIVALS := .venv-rivals
BIN := $(VENV)/bin
# Spark tests of which nothing depends on Spark's version
OURS_ALONE := faults spec_tests test_load_model.py test_quarantine.py
# thousands of processes import the same modules: their bytecode is kept, whatever the caller's shell says
unexport PYTHONDONTWRITEBYTECODE
# further words for pytest, such as PYTEST_ARGS=--last-failed
PYTEST_ARGS ?=
# tests make and remove thousands of small tables: in memory where there is room for them
IN_MEMORY := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 8000000 {print "TMPDIR=/dev/shm"}')
PYTEST := $(IN_MEMORY) $(BIN)/python -m pytest -q
JUDGE_PYTEST := $(JUDGE)/bin/python -m pytest -q

.PHONY: help setup lock hooks java judge bundles rivals format lint types unit long long-full browser spark test wheel demo older-spark interop interop-full bench coverage schemas crash check ci clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1|/' | awk -F'|' '{printf "  %-13s %s\n", $$1, $$2}'

setup: $(VENV)/.ready ## make the locked environment
$(VENV)/.ready: requirements/dev.txt pyproject.toml
	@tools/make-environment $(PYTHON) $(VENV) requirements/dev.txt

# Each lock keeps the versions that it has; delete a line to let its package move.
COMPILE := pip compile --universal --python-version 3.11 --generate-hashes --no-header -q

lock: setup ## pin requirements/*.txt to what pyproject.toml asks for
	$(BIN)/uv $(COMPILE) pyproject.toml --group dev -o requirements/dev.txt
	echo "pyspark>=3.5,<3.6" | $(BIN)/uv $(COMPILE) pyproject.toml --group dev -c - -o requirements/judge.txt
	$(BIN)/uv $(COMPILE) --group rivals -o requirements/rivals.txt

hooks: setup ## install the git hooks
	$(BIN)/pre-commit install

java:
	@tools/ensure-java

judge: $(JUDGE)/.ready java ## make the judge's environment: PySpark 3.5 and Apache Hudi's bundles
$(JUDGE)/.ready: requirements/judge.txt pyproject.toml
	@tools/make-environment $(PYTHON) $(JUDGE) requirements/judge.txt

bundles: judge
	@$(JUDGE)/bin/python tests/interop/fetch_judge.py

rivals: $(RIVALS)/.ready ## make the environment of polars and DuckDB, which only a bench needs
$(RIVALS)/.ready: requirements/rivals.txt pyproject.toml
	@tools/make-environment $(PYTHON) $(RIVALS) requirements/rivals.txt

format: setup ## rewrite the code in the house's form
	$(BIN)/ruff check --fix-only -q .
	$(BIN)/ruff format -q .

lint: setup ## style, imports and spelling; changes nothing
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/lint-imports
	$(BIN)/codespell framework lakestrap tests docs README.md CHANGELOG.md CONTRIBUTING.md

types: setup ## mypy, strict
	$(BIN)/mypy

unit: setup ## every quick test that needs no JVM
	$(PYTEST) -n 3 -m "not spark and not interop and not crash and not browser and not long and not full and not wheel" $(PYTEST_ARGS)

long: setup ## what takes many seconds without a JVM: kills at every step, many random loads
	$(PYTEST) -n 2 -m "long and not full" $(PYTEST_ARGS)

long-full: setup ## the same, with many more random lives; not in CI
	$(PYTEST) -n 2 -m "full and not interop and not crash and not spark" $(PYTEST_ARGS)

browser: setup ## the HTML report and the status page in a headless Chromium; skipped, with the reason, where there is none
	$(PYTEST) -m browser $(PYTEST_ARGS)

spark: setup java ## what needs a JVM, and a sample of the crash tests
	$(PYTEST) -n 2 --dist loadfile -m "(spark or crash) and not full and not interop" $(PYTEST_ARGS)

test: unit long spark ## all tests but the judge's

wheel: setup java ## build the wheel, install it alone in an environment outside the checkout, and use it there
	$(PYTEST) -m wheel $(PYTEST_ARGS)

demo: setup java ## adopt 336,776 real flights and show the gate at work
	@$(BIN)/python tools/demo.py

older-spark: setup judge ## the Spark tests on PySpark 3.5, but for faults and what is ours alone
	$(JUDGE_PYTEST) -n 2 --dist loadfile -m "spark and not crash and not full and not interop" tests/spark $(OURS_ALONE:%=--ignore tests/spark/%) $(PYTEST_ARGS)

interop: setup bundles ## Apache Hudi reads and continues our tables (a sample)
	$(JUDGE_PYTEST) -n 2 --dist loadfile -m "interop and not full" $(PYTEST_ARGS)

interop-full: setup bundles ## the whole matrix of the judge
	$(JUDGE_PYTEST) -m interop $(PYTEST_ARGS)

bench: setup judge rivals ## side by side with Apache Hudi, Iceberg, plain Spark and others; prints ratios
	$(BIN)/python bench/validate.py
	$(BIN)/python bench/keys.py
	$(BIN)/python bench/bootstrap.py
	$(BIN)/python bench/read.py
	$(BIN)/python bench/write.py
	$(BIN)/python bench/scale.py
	$(BIN)/python bench/audit.py
	$(BIN)/python bench/checksums.py
	$(BIN)/python bench/timeline_service.py

coverage: setup java ## tests under coverage; fails under the ratchet
	$(BIN)/coverage run -m pytest -q -m "not interop and not full"
	$(BIN)/coverage report

schemas: setup ## write schemas/*.json and the catalogue of expectations again
	$(BIN)/python -m framework.spec.json_schema
	$(BIN)/python tools/write_schemas.py
	$(BIN)/python tools/write_gx_catalogue.py

crash: setup ## the whole fault suite
	$(PYTEST) -m crash $(PYTEST_ARGS)

check: lint types test ## what a change must pass

ci: check browser wheel older-spark interop ## what .ci/run calls

clean: ## remove what the others made
	rm -rf $(VENV) $(JUDGE) $(RIVALS) demo build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis bench/data bench/results
