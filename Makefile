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
# The pytest plugins of our own tests, beside the environment: a sandbox shows the environment alone, so that no plugin of
# ours loads in the tests of a repaired project.
PLUGINS := .cache/pytest-plugins
PYTEST := $(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadgroup
# Containers often forbid compiled modules; each of the hundreds of Pythons that the tests start would compile ours anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo quick test test-all check setup plugins system official lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-8s %s\n", $$1, $$2}'

demo: setup system ## the whole loop on this machine: webhook, proven fix, review, verdict, learning (ARGS=--stay keeps it up)
	@$(BIN)/apprentice demo $(ARGS)

quick: plugins ## lint, types, import rules, and the unit tests that need no server and no sandbox
	@$(PYTEST) -m "not extended and not redis and not postgresql and not sandbox" tests/unit $(ARGS)

test: plugins system official ## set up, then lint, types, import rules and the tests, but for the extended ones
	@$(PYTEST) -m "not extended" $(ARGS)

test-all: plugins system official ## all tests, with oracle matrices, registry downloads, real packages, benchmarks and long stories
	@$(PYTEST) $(ARGS)

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

plugins: $(PLUGINS)/.ready ## the pytest plugins of our own tests, beside the environment

$(PLUGINS)/.ready: requirements-plugins.lock $(READY)
	@rm -rf $(PLUGINS)
	@$(BIN)/python -m pip uninstall --quiet --disable-pip-version-check --yes -r requirements-plugins.lock 2>/dev/null
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(PLUGINS) -r requirements-plugins.lock
	@echo ../../../../$(PLUGINS) > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/pytest_plugins.pth"
	@touch $@

system: ## bubblewrap, redis-server and npm from the system's packages, or one line on what is skipped without them
	@deploy/system-packages

official: setup system ## GitHub's official descriptions from npm, which hold the stand-in to the real API
	@! command -v npm >/dev/null || $(BIN)/python -m tests.official || echo "skipped without GitHub's official descriptions: the tests of the stand-in against them; run this again: make official"

lock: ## both locks anew from pyproject.toml, in an environment of its own
	@rm -rf .cache/lock
	@deploy/make-venv $(PYTHON) .cache/lock
	@.cache/lock/bin/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -e '.[dev,embeddings,postgresql,redis]'
	@.cache/lock/bin/python -m pip freeze --exclude-editable > .cache/lock/frozen
	@sed -n '/^#/p' requirements.lock > .cache/lock/new
	@sed 's/^\(torch==[^+]*\)+.*/\1/' .cache/lock/frozen >> .cache/lock/new
	@.cache/lock/bin/python -m pip install --quiet --disable-pip-version-check '.[dev,plugins]'
	@sed -n '/^#/p' requirements-plugins.lock > .cache/lock/plugins
	@.cache/lock/bin/python -m pip freeze --exclude apprentice | grep -vxFf .cache/lock/frozen >> .cache/lock/plugins
	@mv .cache/lock/new requirements.lock
	@mv .cache/lock/plugins requirements-plugins.lock
	@rm -rf .cache/lock

clean: ## remove what set-up made
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .import_linter_cache
