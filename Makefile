# The only command surface: developers, hooks and CI call these targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
JUDGE := .venv-judge
RIVALS := .venv-rivals
BIN := $(VENV)/bin
# Spark tests that do not depend on Spark's version
OURS_ALONE := faults spec_tests test_load_model.py test_quarantine.py test_services.py test_commands.py \
  test_check_command.py test_jobs.py test_views.py loading/test_refusals.py \
  loading/test_absent_columns.py checking/test_duplicates_give_way.py checking/test_places.py \
  checking/test_rows_taken_out.py checking/test_no_check_is_vacuous.py checking/test_traces.py
# thousands of processes import the same modules: always cache their bytecode
unexport PYTHONDONTWRITEBYTECODE
# extra arguments for pytest, such as PYTEST_ARGS=--last-failed
PYTEST_ARGS ?=
# tests create and remove thousands of small tables: use /dev/shm if it has enough room
IN_MEMORY := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 8000000 {print "TMPDIR=/dev/shm"}')
PYTEST := $(IN_MEMORY) $(BIN)/python -m pytest -q
JUDGE_PYTEST := $(JUDGE)/bin/python -m pytest -q

.PHONY: help setup lock hooks java judge bundles rivals format lint types unit long long-full browser spark test wheel demo older-spark interop interop-full bench coverage schemas lake crash check ci clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1|/' | awk -F'|' '{printf "  %-13s %s\n", $$1, $$2}'

setup: $(VENV)/.ready ## create the locked environment
$(VENV)/.ready: requirements/dev.txt pyproject.toml
	@tools/make-environment $(PYTHON) $(VENV) requirements/dev.txt

# Each lock keeps its versions; delete a line to upgrade its package.
COMPILE := pip compile --universal --python-version 3.11 --generate-hashes --no-header -q

lock: setup ## pin the dependencies of pyproject.toml in requirements/*.txt
	$(BIN)/uv $(COMPILE) pyproject.toml --all-extras --group dev -o requirements/dev.txt
	echo "pyspark>=3.5,<3.6" | $(BIN)/uv $(COMPILE) pyproject.toml --all-extras --group dev -c - -o requirements/judge.txt
	$(BIN)/uv $(COMPILE) --group rivals -o requirements/rivals.txt

hooks: setup ## install the git hooks
	$(BIN)/pre-commit install

java:
	@tools/ensure-java

judge: $(JUDGE)/.ready java ## create the judge's environment: PySpark 3.5 and Apache Hudi's bundles
$(JUDGE)/.ready: requirements/judge.txt pyproject.toml
	@tools/make-environment $(PYTHON) $(JUDGE) requirements/judge.txt

bundles: judge
	@$(JUDGE)/bin/python tests/interop/fetch_judge.py

rivals: $(RIVALS)/.ready ## create the environment of polars and DuckDB, for benchmarks only
$(RIVALS)/.ready: requirements/rivals.txt pyproject.toml
	@tools/make-environment $(PYTHON) $(RIVALS) requirements/rivals.txt

format: setup ## fix and format the code
	$(BIN)/ruff check --fix-only -q .
	$(BIN)/ruff format -q .

lint: setup ## check style, imports and spelling; changes nothing
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/lint-imports
	$(BIN)/codespell framework lakestrap tests docs README.md CHANGELOG.md CONTRIBUTING.md

types: setup ## run mypy in strict mode
	$(BIN)/mypy

unit: setup ## quick tests that need no JVM
	$(PYTEST) -n 3 -m "not spark and not interop and not crash and not browser and not long and not full and not wheel and not lake" $(PYTEST_ARGS)

long: setup ## slow tests without a JVM: kills at every step, many random loads
	$(PYTEST) -n 2 -m "long and not full and not lake" $(PYTEST_ARGS)

long-full: setup ## the same, with many more random runs; not in CI
	$(PYTEST) -n 2 -m "full and not interop and not crash and not spark and not lake" $(PYTEST_ARGS)

browser: setup ## test the HTML report and the status page in a headless Chromium; skipped if there is none
	$(PYTEST) -m browser $(PYTEST_ARGS)

spark: setup java ## tests that need a JVM, and a sample of the crash tests
	$(PYTEST) -n 2 --dist loadfile -m "(spark or crash) and not full and not interop and not lake" $(PYTEST_ARGS)

test: unit long spark ## all tests except interop

wheel: setup java ## build the wheel, install it outside the checkout, and test it there
	$(PYTEST) -m wheel $(PYTEST_ARGS)

demo: setup java ## adopt 336,776 real flights and show the gate at work
	@$(BIN)/python tools/demo.py

older-spark: setup bundles ## Spark tests on PySpark 3.5, except those that do not depend on its version
	$(JUDGE_PYTEST) -n 2 --dist loadfile -m "spark and not crash and not full and not interop and not lake" tests/spark $(OURS_ALONE:%=--ignore tests/spark/%) $(PYTEST_ARGS)

interop: setup bundles ## test that Apache Hudi reads and continues our tables (a sample)
	$(JUDGE_PYTEST) -n 2 --dist loadfile -m "interop and not full and not lake" $(PYTEST_ARGS)

interop-full: setup bundles ## the full interop matrix
	$(JUDGE_PYTEST) -m "interop and not lake" $(PYTEST_ARGS)

bench: setup judge rivals ## benchmarks against Apache Hudi, Iceberg, plain Spark and others; prints ratios
	$(BIN)/python bench/validate.py
	$(BIN)/python bench/keys.py
	$(BIN)/python bench/bootstrap.py
	$(BIN)/python bench/index.py
	$(BIN)/python bench/read.py
	$(BIN)/python bench/write.py
	$(BIN)/python bench/services.py
	$(BIN)/python bench/scale.py
	$(BIN)/python bench/huge.py
	$(BIN)/python bench/audit.py
	$(BIN)/python bench/checksums.py
	$(BIN)/python bench/timeline_service.py
	$(BIN)/python bench/lake.py

coverage: setup java ## run the tests with coverage; fails below the threshold
	$(BIN)/coverage run -m pytest -q -m "not interop and not full and not lake"
	$(BIN)/coverage report

schemas: setup ## regenerate schemas/*.json and the catalogue of expectations
	$(BIN)/python -m framework.spec.json_schema
	$(BIN)/python tools/write_schemas.py
	$(BIN)/python tools/write_gx_catalogue.py

lake: setup bundles ## tests on HDFS and S3, whose servers they build, start and stop; needs Maven and Go
	$(PYTEST) -m "lake and not interop" tests/lake $(PYTEST_ARGS)
	$(JUDGE_PYTEST) -m "lake and interop" tests/lake $(PYTEST_ARGS)

crash: setup ## the full fault suite
	$(PYTEST) -m crash $(PYTEST_ARGS)

check: lint types test ## lint, types and test: required for every change

ci: check browser wheel older-spark interop ## the same targets as .ci/run

clean: ## remove generated files
	rm -rf $(VENV) $(JUDGE) $(RIVALS) demo build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis bench/data bench/results
