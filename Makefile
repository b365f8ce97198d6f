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
# A lock names every package that it needs, and the hash of every build of it.
LOCKED := --quiet --disable-pip-version-check --no-deps --require-hashes
SUPPLY := .cache/supply
SECONDS ?= 600
# The pytest plugins of our own tests, beside the environment: a sandbox shows the environment alone, so that no plugin of
# ours loads in the tests of a repaired project.
PLUGINS := .cache/pytest-plugins
PYTEST = $(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadgroup
# Containers often forbid compiled modules; each of the hundreds of Pythons that the tests start would compile ours anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo quick test test-all check setup plugins system official lock sbom audit fuzz clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-8s %s\n", $$1, $$2}'

demo: setup system ## the whole loop on this machine: webhook, proven fix, review, verdict, learning (ARGS=--stay keeps it up)
	@$(BIN)/apprentice demo $(ARGS)

quick: TEST_PROCESSES = auto
quick: plugins check ## lint, types, import rules, and the fast unit tests that need no server and no sandbox
	@$(PYTEST) -m "not extended and not slow and not redis and not postgresql and not sandbox" tests/unit $(ARGS)

test: plugins system official ## set up, then lint, types, import rules and the tests, but for the extended ones
	@$(PYTEST) -m "not extended" $(ARGS)

test-all: plugins system official ## all tests, with oracle matrices, registry downloads, real packages, benchmarks, and all other stories
	@$(PYTEST) $(ARGS)

check: setup ## lint, types and import rules only
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

setup: $(READY) ## the virtual environment, with the locked dependencies

$(READY): requirements.lock requirements-dev.lock requirements-torch.lock pyproject.toml
	@deploy/make-venv $(PYTHON) $(VENV)
	@echo "installing the locked dependencies into $(VENV) (about 1.5 GB, once)"
	@$(BIN)/python -m pip install $(LOCKED) -r requirements.lock -r requirements-dev.lock
	@# torch, and what another Python than the locks' 3.11 needs besides, without hashes.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -r requirements-torch.lock -e '.[analysis,app,dev,meaning,model,otel,postgresql,types]'
	@touch $@

plugins: $(PLUGINS)/.ready ## the pytest plugins of our own tests, beside the environment

$(PLUGINS)/.ready: requirements-plugins.lock $(READY)
	@rm -rf $(PLUGINS)
	@$(BIN)/python -m pip uninstall --quiet --disable-pip-version-check --yes -r requirements-plugins.lock 2>/dev/null
	@$(BIN)/python -m pip install $(LOCKED) --target $(PLUGINS) -r requirements-plugins.lock
	@echo ../../../../$(PLUGINS) > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/pytest_plugins.pth"
	@touch $@

system: ## bubblewrap, redis-server and npm from the system's packages, or one line on what is skipped without them
	@deploy/system-packages

official: setup system ## GitHub's official descriptions from npm, which hold the stand-in to the real API
	@! command -v npm >/dev/null || $(BIN)/python -m tests.official || echo "skipped without GitHub's official descriptions: the tests of the stand-in against them; run this again: make official"

lock: ## every lock anew from pyproject.toml, with the hashes of all builds
	@deploy/lock $(PYTHON) $(PIP_ARGS)

sbom: $(SUPPLY)/.ready ## the bill of materials, CycloneDX: sbom.json of what is locked
	@cat requirements.lock requirements-torch.lock | $(SUPPLY)/bin/cyclonedx-py requirements --output-reproducible -o sbom.json -
	@echo "sbom.json: $$(grep -c '"purl"' sbom.json) packages"

audit: $(SUPPLY)/.ready ## known vulnerabilities of what is locked, or one line that says why they could not be looked up
	@deploy/audit $(SUPPLY)/bin/pip-audit

$(SUPPLY)/.ready: requirements-supply.lock
	@deploy/make-venv $(PYTHON) $(SUPPLY)
	@$(SUPPLY)/bin/python -m pip install $(LOCKED) -r requirements-supply.lock
	@touch $@

fuzz: $(READY) ## fuzz each reader of foreign bytes for SECONDS, and keep what reaches more in tests/fuzz/corpus
	@[ -d .cache/fuzz/atheris ] || $(BIN)/python -m pip install $(LOCKED) --target .cache/fuzz -r requirements-fuzz.lock
	@$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --keep $(ARGS)

clean: ## remove what set-up made
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .import_linter_cache
