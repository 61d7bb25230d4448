# Targets a newcomer meets: demo, test. The rest is for those who change the code.
# Everything is installed into .venv from lock files with hashes; nothing else on the machine changes.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV     ?= uv
.DEFAULT_GOAL := help
.PHONY: help venv dev demo test lint fix integration bench docs lock clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

$(VENV)/.runtime: requirements/build.txt requirements/runtime.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Muster needs Python 3.11 or newer; $(PYTHON) cannot be run or is older. Name another: make PYTHON=python3.12 venv" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "Python's venv module is incomplete. On Debian and Ubuntu: apt install python3-venv" >&2; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.txt -r requirements/runtime.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

venv: $(VENV)/.runtime  ## make .venv with muster and ansible-playbook
dev: $(VENV)/.dev  ## the same, with the test and lint tools

demo: $(VENV)/.runtime  ## sweep a simulated fleet and write its report (last line: the report's path)
	@$(BIN)/muster demo

test: $(VENV)/.dev  ## everything that needs no root
	$(BIN)/pytest -m "not root and not crash and not bench and not gpu" $(PYTEST_ARGS)
	@echo "Left out here: tests marked root and crash (make integration), bench (make bench), gpu (needs a real card)."

lint: $(VENV)/.dev  ## ruff, mypy, yamllint, ansible-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/yamllint --strict .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/ansible-lint --offline --profile production --strict playbooks inventory galaxy.yml meta

fix: $(VENV)/.dev  ## let ruff repair what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

integration: $(VENV)/.dev  ## real sshd nodes, crash tests, databases; as root
	$(BIN)/pytest -m "root or crash" $(PYTEST_ARGS)

bench: $(VENV)/.dev  ## measure ratios side by side; as root
	$(BIN)/python -m tests.bench $(BENCH_ARGS)

docs: $(VENV)/.dev  ## write the published schemas anew
	$(BIN)/python -m schemas.generate

lock: requirements/build.in requirements/runtime.in requirements/dev.in  ## resolve the lock files anew (needs uv)
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header -o requirements/build.txt requirements/build.in
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header -o requirements/runtime.txt requirements/runtime.in
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header -c requirements/runtime.txt -o requirements/dev.txt requirements/dev.in

clean:  ## remove what the targets made
	rm -rf $(VENV) build demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
