# make demo and make test do all set-up themselves; everything lands in .venv and .cache.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# On Linux the registry's default torch brings gigabytes of GPU libraries. Where pip knows an index with CPU builds
# (its extra-index-url), it takes those; give one here if yours does not: make demo TORCH_INDEX=URL
TORCH_INDEX ?=
PIP_ARGS := $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
ARGS ?=
# More than cores: many tests wait for servers and sandboxes.
TEST_PROCESSES ?= 4
READY := $(VENV)/.ready
# Containers often forbid compiled modules; each of the hundreds of Pythons that the tests start would compile ours anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check setup system official lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-8s %s\n", $$1, $$2}'

demo: setup system ## the whole loop on this machine: webhook, proven fix, review, verdict, learning (ARGS=--stay keeps it up)
	@$(BIN)/apprentice demo $(ARGS)

test: setup system official ## set up, then lint, types, import rules and all tests
	@$(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadgroup $(ARGS)

check: setup ## lint, types and import rules only
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

setup: $(READY) ## the virtual environment, with the locked dependencies

$(READY): requirements.lock pyproject.toml
	@deploy/make-venv $(PYTHON) $(VENV)
	@echo "installing the locked dependencies into $(VENV) (about 1.5 GB, once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

system: ## bubblewrap, redis-server and npm from the system's packages, or one line on what is skipped without them
	@deploy/system-packages

official: setup system ## GitHub's official descriptions from npm, which hold the stand-in to the real API
	@! command -v npm >/dev/null || $(BIN)/python -m tests.official || echo "skipped without GitHub's official descriptions: the tests of the stand-in against them; run this again: make official"

lock: ## requirements.lock anew from pyproject.toml, in an environment of its own
	@rm -rf .cache/lock
	@deploy/make-venv $(PYTHON) .cache/lock
	@.cache/lock/bin/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -e '.[dev]'
	@.cache/lock/bin/python -m pip freeze --exclude-editable > .cache/lock/frozen
	@sed -n '/^#/p' requirements.lock > .cache/lock/new
	@sed 's/^\(torch==[^+]*\)+.*/\1/' .cache/lock/frozen >> .cache/lock/new
	@mv .cache/lock/new requirements.lock
	@rm -rf .cache/lock

clean: ## remove what set-up made
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .import_linter_cache
