# Two commands matter: `make demo` and `make test`. Each sets up what it needs, once.
#
#   PYTHON=python3.12          another interpreter (3.10 or newer, with venv)
#   PIP_ARGS="..."             more arguments for every `pip install`
#   TORCH_INDEX=URL            an additional index, such as one with CPU-only builds of torch
#   AT_ONCE=1                  tests at a time (3 on two cores: most of them wait; more need more cores)
#   VENV, TEST_VENV, DEV_VENV, OLDEST_VENV, FRAMEWORKS_VENV   where the environments go

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV ?= .venv
TEST_VENV ?= .venv-test
DEV_VENV ?= .venv-dev
OLDEST_VENV ?= .venv-oldest
OLDEST_PYTHON ?= python3.10
FRAMEWORKS_VENV ?= .venv-frameworks
PYTEST_ARGS ?=
AT_ONCE ?= 3
CASES_ARGS ?=
FUZZ_ARGS ?=

supported = $(1) -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
first_supported = $(shell for python in python3 python3.13 python3.12 python3.11 python3.10; do \
	if $(call supported,$$python); then echo $$python; break; fi; done)
PYTHON ?= $(first_supported)

pip_install = $(1)/bin/python -m pip install --disable-pip-version-check \
	$(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) $(PIP_ARGS) -e

# Files, not tests: what a file sets up serves all of its tests.
side_by_side = -n $(AT_ONCE) --dist loadfile

# $(1): folder, $(2): interpreter, $(3): extra. Every step may be repeated.
define set_up
	@if ! $(call supported,$(or $(2),false)); then \
		echo "perftui needs Python 3.10 or newer with venv (on Debian: the package python3-venv)." >&2; \
		echo "$(or $(2),python3) is: $$($(or $(2),python3) --version 2>&1 | head -1). Another: make $(or $(MAKECMDGOALS),test) PYTHON=python3.12" >&2; \
		exit 1; fi
	@echo "Setting up $(1) with $$($(2) --version): torch comes with it, several GB. Only now, not next time."
	$(2) -m venv $(1)
	$(call pip_install,$(1)) '.[$(3)]'
	@touch $(1)/.ready
endef

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(VENV)/.ready ## Set up once, then train a starved model under the dashboard
	$(VENV)/bin/perftui demo $(DEMO)

.PHONY: test
test: $(TEST_VENV)/.ready ## Set up once, then run every test
	@$(TEST_VENV)/bin/python -m pytest $(side_by_side) $(PYTEST_ARGS) || { \
		code=$$?; [ $$code -eq 1 ] || exit $$code; \
		echo "Once more, by itself: what failed beside other tests."; \
		$(TEST_VENV)/bin/python -m pytest --last-failed --last-failed-no-failures none $(PYTEST_ARGS); }

.PHONY: test-long
test-long: $(TEST_VENV)/.ready ## The tests that `make test` leaves out: many real trainings
	$(TEST_VENV)/bin/python -m pytest -m long $(PYTEST_ARGS)

.PHONY: test-oldest
test-oldest: $(OLDEST_VENV)/.ready ## The same with Python 3.10 and torch 2.4 (OLDEST_PYTHON=...)
	$(OLDEST_VENV)/bin/python -m pytest $(side_by_side) $(PYTEST_ARGS)

.PHONY: test-frameworks
test-frameworks: $(FRAMEWORKS_VENV)/.ready ## Lightning, the Trainer of transformers and others, unmodified
	$(FRAMEWORKS_VENV)/bin/python -m pytest tests/frameworks $(PYTEST_ARGS)

.PHONY: cases
cases: $(TEST_VENV)/.ready ## Every script with a known cause under perftui: hours (CASES_ARGS="--gpus 4", names ...)
	$(TEST_VENV)/bin/python -m tests.cases.run $(CASES_ARGS)

.PHONY: fuzz
fuzz: $(TEST_VENV)/.ready ## A million wrong frames at codecs, readers and a real hub (FUZZ_ARGS="--frames N --seed N")
	nice -n 19 $(TEST_VENV)/bin/python -m tests.fuzz $(FUZZ_ARGS)

.PHONY: check
check: lint typecheck contracts ## Everything that must hold: style, types, import contracts, tests
	$(DEV_VENV)/bin/python -m pytest $(side_by_side) $(PYTEST_ARGS)

.PHONY: lint
lint: $(DEV_VENV)/.ready ## Style and format
	$(DEV_VENV)/bin/ruff check .
	$(DEV_VENV)/bin/ruff format --check .

.PHONY: typecheck
typecheck: $(DEV_VENV)/.ready .typing/perftui ## mypy and pyright, both strict
	$(DEV_VENV)/bin/mypy
	$(DEV_VENV)/bin/pyright --pythonpath $(DEV_VENV)/bin/python

.PHONY: contracts
contracts: $(DEV_VENV)/.ready ## Which room may import which
	$(DEV_VENV)/bin/lint-imports

.PHONY: format
format: $(DEV_VENV)/.ready ## Put the code into the project's format
	$(DEV_VENV)/bin/ruff check --fix .
	$(DEV_VENV)/bin/ruff format .

.PHONY: clean
clean: ## Remove environments and caches
	rm -rf $(VENV) $(TEST_VENV) $(DEV_VENV) $(OLDEST_VENV) $(FRAMEWORKS_VENV) .typing build dist *.egg-info
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# Type checkers need a tree in which the folders carry their import names.
.typing/perftui: pyproject.toml
	@mkdir -p $@
	@ln -sfn ../../ipc ../../trainer ../../tui ../../demos $@
	@touch $@

$(VENV)/.ready: pyproject.toml
	$(call set_up,$(VENV),$(PYTHON),demos)

$(TEST_VENV)/.ready: pyproject.toml
	$(call set_up,$(TEST_VENV),$(PYTHON),test)

$(DEV_VENV)/.ready: pyproject.toml
	$(call set_up,$(DEV_VENV),$(PYTHON),dev)

$(OLDEST_VENV)/.ready: pyproject.toml
	$(call set_up,$(OLDEST_VENV),$(OLDEST_PYTHON),test-oldest)

$(FRAMEWORKS_VENV)/.ready: pyproject.toml
	$(call set_up,$(FRAMEWORKS_VENV),$(PYTHON),test-frameworks)
