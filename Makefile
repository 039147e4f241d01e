# Everything here makes its own environment in .venv first; it needs Python >= 3.10 and pip's
# package index, nothing else. A C compiler makes the statistics about ten times faster.

PYTHON ?= python3
VENV ?= .venv
# torch goes first and pinned, so that no other package chooses a build of it.
TORCH ?= torch==2.13.0
BIN := $(VENV)/bin
JOBS ?= 2
# What is kept between checkouts: environments, by a hash of what is in them, and mypy's findings.
CACHE ?= $(HOME)/.cache/stepwatch
# Where the real smdebug is installed, for the treaty tests.
TREATY_RECIPE := tests/treaty/requirements.txt
TREATY ?= $(CACHE)/treaty-$(shell sha256sum $(TREATY_RECIPE) | cut -c1-12)
# Where each framework is installed, for the tests of its hook; ENVS="xgboost keras" for some.
FRAMEWORKS ?= $(CACHE)/frameworks
ENVS ?=
# Interpreters that wheels are tried with: PYTHONS="python3.10 python3.13"; that of .venv by default.
PYTHONS ?=
# A part of the slow tests: SHARE=1/3 is the first of three.
SHARE ?=
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
# What the tests on frameworks, clients and servers run by themselves.
QUICK := not slow and not treaty
# Where the clients of SageMaker are installed, for the tests that drive our server by them.
CLIENTS ?= $(CACHE)/sagemaker

# Processes that tests start would compile all they import anew, each of them.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test test-fast test-all test-matrix coverage bench-quick test-slow test-treaty test-frameworks test-s3 test-azure test-browser test-page test-sagemaker treaty check format rule-tables bench rulebench docs release test-wheel clean

help:  ## show this list
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 18

demo: $(VENV)/demo  ## train two models, healthy and with a planted fault each, and look inside
	$(BIN)/python demo/run_demo.py

test: $(VENV)/dev  ## run the quick tests and the checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(BIN)/mypy --cache-dir "$(CACHE)/mypy" > $(VENV)/mypy.log 2>&1 & checking=$$!; \
		$(PYTEST) -m "$(QUICK)"; status=$$?; \
		wait $$checking || status=1; cat $(VENV)/mypy.log; exit $$status

test-fast: $(VENV)/dev  ## run the tests that need no torch, in less than a minute
	STEPWATCH_WITHOUT_TORCH=1 $(PYTEST) -m "$(QUICK)" tests src

test-slow: $(VENV)/dev  ## run the tests that take longer, or a SHARE of them
	STEPWATCH_SHARE=$(SHARE) $(PYTEST) -m "slow and not treaty"

test-all:  ## run all that CI runs, and the parts that it leaves to other commits
	CI_SHARE=all .ci/run

test-matrix:  ## run the tests that need no torch on each Python, and some on each torch, if there
	$(PYTHON) tests/matrix.py --cache "$(CACHE)/matrix"

coverage: $(VENV)/dev  ## run the quick tests and show which lines they reach
	$(BIN)/python -m pip install --quiet "pytest-cov>=6"
	$(PYTEST) -m "$(QUICK)" --cov=stepwatch --cov=stepwatch_smdebug --cov=smdebug --cov-report=term:skip-covered \
		> $(VENV)/coverage.log; status=$$?; grep -vE ' (9[0-9]|100)%$$' $(VENV)/coverage.log; exit $$status

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

# Types and pure modules of the dashboard's page; node and npm are for developers only.
test-page:  ## check the types of the dashboard's page, and test its pure modules; needs node
	node --test tests/page/
	npm exec --yes --package typescript@5 -- tsc -p tests/page/tsconfig.json

# Trainings and rules run in the Python of this checkout, clients in environments of their own.
test-sagemaker: $(VENV)/dev  ## drive the server by the real SDKs of SageMaker and a real S3 server
	STEPWATCH_TEST_S3=1 STEPWATCH_SERVER_PYTHON=$(abspath $(BIN))/python STEPWATCH_FRAMEWORKS="$(FRAMEWORKS)" \
		$(BIN)/python tests/s3/ceph.py $(BIN)/python tests/frameworks/environments.py \
		--among tests/sagemaker --mark sagemaker --cache "$(CLIENTS)" $(ENVS)

check: $(VENV)/dev  ## style and types only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --cache-dir "$(CACHE)/mypy"

format: $(VENV)/dev  ## put the code in form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench-quick: $(VENV)/dev
	$(BIN)/python bench/capture.py --quick

rule-tables: $(VENV)/dev  ## write the parameter tables of docs/rules.md from what rules declare
	$(BIN)/python docs/rule_tables.py

bench: $(VENV)/dev treaty  ## what capturing costs, what reading costs, and what smdebug takes
	$(BIN)/python -m pytest -p no:xdist bench/test_promises.py
	$(BIN)/python bench/kernel.py
	$(BIN)/python bench/capture.py
	$(BIN)/python bench/open_run.py
	$(BIN)/python bench/scale.py --quick
	STEPWATCH_TREATY_PYTHON=$(TREATY)/bin/python $(BIN)/python bench/treaty.py
	STEPWATCH_TREATY_PYTHON=$(TREATY)/bin/python $(BIN)/python bench/scale_rival.py

rulebench: $(VENV)/dev  ## let the rules judge faulty and healthy trainings; about 15 minutes
	$(BIN)/python -m rulebench --jobs $(JOBS) --seeds 2 --write

# What was compiled before is left out: a wheel must be made of its source alone.
release: $(VENV)/release  ## build source distributions and wheels into build/dist, and try them
	rm -rf build packages/stepwatch-smdebug/build
	STEPWATCH_REQUIRE_KERNEL=1 $(BIN)/python -m build --outdir build/dist .
	$(BIN)/python -m build --outdir build/dist packages/stepwatch-smdebug
	$(BIN)/python -m twine check --strict build/dist/*
	$(MAKE) test-wheel

test-wheel: $(VENV)/release  ## build wheels, with the kernel and without, and try them in bare environments
	STEPWATCH_PYTHONS="$(PYTHONS)" $(BIN)/python -m pytest -p no:xdist -s -m wheel tests/wheels

docs: $(VENV)/docs  ## build the documentation site into build/site; every warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "look at it with: $(BIN)/python -m http.server --directory build/site"

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

$(VENV)/dev: $(VENV)/torch pyproject.toml packages/stepwatch-smdebug/pyproject.toml packages/stepwatch-smdebug/setup.py setup.py $(wildcard src/stepwatch/*.[ch])
	$(BIN)/python -m pip install --quiet --editable ".[dev]" --editable ./packages/stepwatch-smdebug
	@touch $@

$(VENV)/docs: $(VENV)/dev
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	@touch $@

$(VENV)/release: $(VENV)/dev
	$(BIN)/python -m pip install --quiet --editable ".[release]"
	@touch $@

# Of several that would make it, one does, and the others wait.
treaty:
	@mkdir -p "$(CACHE)"; flock "$(TREATY).lock" sh -ec 'test -e "$(TREATY)/complete" || { \
		$(PYTHON) -m venv --clear "$(TREATY)"; \
		"$(TREATY)/bin/python" -m pip install --quiet --upgrade pip; \
		"$(TREATY)/bin/python" -m pip install --quiet "$$(grep "^torch" $(TREATY_RECIPE))"; \
		"$(TREATY)/bin/python" -m pip install --quiet -r $(TREATY_RECIPE); \
		touch "$(TREATY)/complete"; }'
