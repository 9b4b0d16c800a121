# Each target does its own set-up; a fresh clone needs python3 (3.11+) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq --constraint constraints.txt
# Two cores are enough for two workers; more threads inside each would only get in each other's way.
WORKERS ?= 2
# Terms that were ours alone; CONTRIBUTING.md says what to say instead.
BANNED := camps?|duels?|provenance|strangers|foreigners?|opinions?|headlines?|company|second look|contested

.DEFAULT_GOAL := help
.PHONY: help quickstart test check fuzz format bench docs results clean

help:
	@echo "make quickstart  install, then compare the methods on corrupt demonstrations (some three minutes)"
	@echo "make test        install with the developer's tools, then run all tests"
	@echo "make check       format, lint and strict types, without changing anything"
	@echo "make fuzz        read 2,000 damaged and hostile files of every kind (ten minutes)"
	@echo "make format      put the code into the house format"
	@echo "make bench       speed and memory, as ratios measured in one run"
	@echo "make docs        write the pages of docs/ that show results, from docs/results"
	@echo "make results     measure everything in docs/results anew (many hours)"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "robust-bc needs Python 3.11 or newer; say which: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "python3 cannot make a virtual environment (on Debian: apt-get install python3-venv)"; exit 1; }

$(VENV)/installed: $(BIN)/python pyproject.toml constraints.txt
	@echo "installing robust-bc into $(VENV) (once, a minute or two) ..."
	@$(PIP) --editable ".[all]"
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	@echo "installing the developer's tools ..."
	@$(PIP) --editable ".[dev]"
	@touch $@

quickstart: $(VENV)/installed
	@$(BIN)/robust-bc quickstart

test: $(VENV)/installed-dev
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(WORKERS) --quiet

check: $(VENV)/installed-dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/python -m mypy
	@! git grep -nwiE "$(BANNED)" -- "*.py" "*.md" || { echo "a plain word is better: CONTRIBUTING.md"; exit 1; }

FUZZ ?= --count 2000 --seed 0
fuzz: $(VENV)/installed-dev
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.hostile.guard
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.hostile.fuzz $(FUZZ)

format: $(VENV)/installed-dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/installed
	@$(BIN)/python scripts/bench.py
	@$(BIN)/python scripts/bench_worlds.py
	@$(BIN)/python scripts/bench_rollouts.py
	@$(BIN)/python scripts/bench_audit.py

docs: $(VENV)/installed
	@$(BIN)/python scripts/pages.py

results: $(VENV)/installed
	@$(BIN)/python scripts/results.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
