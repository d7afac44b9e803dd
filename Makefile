# The course's commands. `make` alone lists them; a target's help is the text after its ##.
#
# Every target makes what it needs first, and again only when its inputs changed.
# Variables:  PYTHON=python3.12      the interpreter that .venv is made from
#             TORCH_INDEX=ADDRESS    where torch alone is taken from (an index, or a folder of wheels)
#             SYSTEM=skip            leave the system packages alone
#             PYTEST_ARGS="-k name"  handed to pytest
#             JOBS=2                 how many tests at a time
#             PORT=8000              for `make serve`
#             BENCH_ARGS=--small     for `make bench`: a few submissions of lab 1, in a minute or two
#             EDITION=student        for `make book` and `make serve`: without the solutions' page
# pip's own variables (PIP_INDEX_URL, PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS) are passed on.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Labs, book and tests write into the same folders, so -j is accepted and everything runs in order.
.NOTPARALLEL:

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SYSTEM ?= soft
PORT ?= 8000
EDITION ?= full
PYTEST_ARGS ?=
JOBS ?= 2
export PYTHON TORCH_INDEX
# Two processes that each keep a thread for every core wait for one another; the tensors here are far too small to share.
export OMP_NUM_THREADS ?= 1

.PHONY: help setup system demo test test-fast labs matrix bench bench-soak bench-diagnosis book experiments notebooks seed-map pdf serve format lock clean distclean

help: ## Print this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## Make .venv and install everything (the first time: some minutes)

system: ## Install the missing system packages (Debian, Ubuntu), saying which and why
	@scripts/system-packages.sh

demo: setup ## Grade a sample class of lab 1 from release to CSV, and say where the results lie
	$(BIN)/python scripts/demo.py

test: setup ## Run every gate: style, types, labs, website, all tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/autograder labs check
	$(BIN)/autograder labs lint
	scripts/build-book.sh
	$(BIN)/python -m pytest -n $(JOBS) --no-loadscope-reorder $(PYTEST_ARGS)

test-fast: setup ## Run style, types and the quick tests only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -m "not slow and not browser and not sandbox and not postgresql" $(PYTEST_ARGS)

labs: setup ## Make the students' notebooks in labs/ from solutions/
	$(BIN)/autograder labs make

matrix: setup ## Write docs/labs/matrix.md and docs/tolerances.md from all mistakes and variants
	$(BIN)/python -m autograder.authoring.matrix

BENCH_ARGS ?=
bench: setup ## Measure the speed beside stock nbgrader and otter-grader; writes docs/benchmarks.md (12 minutes)
	$(BIN)/python -m bench $(BENCH_ARGS)

bench-soak: setup ## Grade 2,000 submissions in one run and measure what piles up
	$(BIN)/python -m bench.soak $(BENCH_ARGS)

bench-diagnosis: setup ## Measure how well the diagnosis reads other styles (some minutes)
	$(BIN)/python -m bench.diagnosis $(BENCH_ARGS)

book: setup ## Build the website into _build/html (EDITION=student: without solutions); a warning is an error
	EDITION=$(EDITION) scripts/build-book.sh

EXPERIMENTS ?=
experiments: setup ## Redo the book's experiments and their committed records (EXPERIMENTS="name ..." for some)
	$(BIN)/python book/experiments $(EXPERIMENTS)

# What a page is the only source of, made by the website's own extension.
notebooks: setup ## Make the chapters' notebooks in book/notebooks, which Colab and Binder open
	PYTHONPATH=book/_ext $(BIN)/python -c 'from course_site.notebooks import main; main()'

seed-map: setup ## Write docs/seed-map.md: where each section of the first texts is answered
	PYTHONPATH=book/_ext $(BIN)/python -c 'from course_site.seed_map import main; main()'

pdf: book ## Print the whole book into one PDF below _build (needs Chromium)
	$(BIN)/python scripts/pdf.py $(EDITION)

serve: book ## Build the website and serve it on http://localhost:8000 (PORT=...)
	@$(BIN)/python scripts/serve.py $(if $(filter student,$(EDITION)),_build/student/_build/html,_build/html) $(PORT)

format: setup ## Rewrite the Python files in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: setup ## Write constraints.txt from what is installed in .venv
	$(BIN)/python scripts/lock.py

clean: ## Remove what was built (never submissions, grades or feedback)
	rm -rf _build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean ## Remove .venv as well
	rm -rf $(VENV)

# The system packages are looked at each time (some hundredths of a second), before .venv, because
# the package that lets Python make a .venv may be among them. Order-only: looking at them is no
# reason to install again.
$(STAMP): pyproject.toml constraints.txt $(wildcard autograder/kernel/kernelspec/*) \
		scripts/venv.sh scripts/find-python.sh | system-packages
	@scripts/venv.sh
	@touch $@

.PHONY: system-packages
system-packages:
	@if [ "$(SYSTEM)" != skip ]; then scripts/system-packages.sh --soft; fi
