# Everything here makes its own environment in .venv first; it needs Python >= 3.10 and pip's
# package index, nothing else. A C compiler makes the statistics about ten times faster.

PYTHON ?= python3
VENV ?= .venv
# torch goes first and pinned, so that no other package chooses a build of it.
TORCH ?= torch==2.13.0
BIN := $(VENV)/bin
JOBS ?= 2
# Where the real smdebug is installed, for the treaty tests; outside of the checkout, to be kept.
TREATY ?= $(HOME)/.cache/stepwatch/treaty
TREATY_RECIPE := tests/treaty/requirements.txt
# Where each framework is installed, for the tests of its hook; ENVS="xgboost keras" for some.
FRAMEWORKS ?= $(HOME)/.cache/stepwatch/frameworks
ENVS ?=
# Where the clients of SageMaker are installed, for the tests that drive our server by them.
CLIENTS ?= $(HOME)/.cache/stepwatch/sagemaker

.PHONY: help demo test test-slow test-treaty test-frameworks test-s3 test-azure test-browser test-sagemaker treaty check format bench rulebench clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 18

demo: $(VENV)/demo  ## train two models, healthy and with a planted fault each, and look inside
	$(BIN)/python demo/run_demo.py

test: $(VENV)/dev  ## run the quick tests and the checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow and not treaty"

test-slow: $(VENV)/dev  ## run the tests that take longer
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "slow and not treaty"

test-treaty: $(VENV)/dev treaty  ## run the tests that ask the real smdebug, in its own environment
	STEPWATCH_TREATY_PYTHON=$(TREATY)/bin/python $(BIN)/python -m pytest -n $(JOBS) -m treaty tests/treaty

test-frameworks:  ## run the tests that need a framework, each in its own environment
	$(PYTHON) tests/frameworks/environments.py --cache "$(FRAMEWORKS)" $(ENVS)

# The tests share one server, which is installed if it can be and stops with them.
test-s3: $(VENV)/dev  ## run the tests that need a real S3 server, which they bring along
	STEPWATCH_TEST_S3=1 $(BIN)/python tests/s3/ceph.py $(BIN)/python -m pytest -n $(JOBS) tests/s3

test-azure: $(VENV)/dev  ## run the tests that need Azurite, which they install with npm
	$(BIN)/python tests/azure/azurite.py
	$(BIN)/python -m pytest -n $(JOBS) tests/azure

test-browser: $(VENV)/dev  ## draw pages in a real browser, which is installed with apt-get
	$(BIN)/python tests/browser/chromium.py
	$(BIN)/python -m pip install --quiet "playwright>=1.48"
	$(BIN)/python -m pytest -p no:xdist tests/browser

# Trainings and rules run in the Python of this checkout, clients in environments of their own.
test-sagemaker: $(VENV)/dev  ## drive the server by the real SDKs of SageMaker and a real S3 server
	STEPWATCH_TEST_S3=1 STEPWATCH_SERVER_PYTHON=$(abspath $(BIN))/python STEPWATCH_FRAMEWORKS="$(FRAMEWORKS)" \
		$(BIN)/python tests/s3/ceph.py $(BIN)/python tests/frameworks/environments.py \
		--among tests/sagemaker --mark sagemaker --cache "$(CLIENTS)" $(ENVS)

check: $(VENV)/dev  ## style and types only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/dev  ## put the code in form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/dev treaty  ## what capturing costs, what reading costs, and what smdebug takes
	$(BIN)/python bench/kernel.py
	$(BIN)/python bench/capture.py
	$(BIN)/python bench/open_run.py
	$(BIN)/python bench/scale.py --quick
	STEPWATCH_TREATY_PYTHON=$(TREATY)/bin/python $(BIN)/python bench/treaty.py
	STEPWATCH_TREATY_PYTHON=$(TREATY)/bin/python $(BIN)/python bench/scale_rival.py

rulebench: $(VENV)/dev  ## let the rules judge faulty and healthy trainings; about 15 minutes
	$(BIN)/python -m rulebench --jobs $(JOBS) --seeds 2 --write

clean:  ## remove what was made here
	rm -rf $(VENV) build src/*.egg-info src/stepwatch/_kernel*.so

# The environment is made again when what goes into it changes.
$(VENV)/torch:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "$(TORCH)"
	@touch $@

$(VENV)/demo: $(VENV)/torch pyproject.toml setup.py $(wildcard src/stepwatch/*.[ch])
	$(BIN)/python -m pip install --quiet --editable ".[demo]"
	@touch $@

$(VENV)/dev: $(VENV)/torch pyproject.toml compat/pyproject.toml setup.py $(wildcard src/stepwatch/*.[ch])
	$(BIN)/python -m pip install --quiet --editable ".[dev]" --editable ./compat
	@touch $@

# That of the real smdebug is made again when its recipe reads differently, whatever its date.
treaty:
	@cmp -s $(TREATY_RECIPE) $(TREATY)/made-from.txt || { \
		$(PYTHON) -m venv --clear "$(TREATY)" && \
		$(TREATY)/bin/python -m pip install --quiet --upgrade pip && \
		$(TREATY)/bin/python -m pip install --quiet "$$(grep '^torch' $(TREATY_RECIPE))" && \
		$(TREATY)/bin/python -m pip install --quiet -r $(TREATY_RECIPE) && \
		cp $(TREATY_RECIPE) $(TREATY)/made-from.txt; }
