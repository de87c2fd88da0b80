# Everything a contributor needs. Each target makes the environment first; a second run reuses it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
RUNTIME := $(VENV)/.runtime
STAMP := $(VENV)/.installed
INTEGRATIONS := .envs/integrations
export SPARK_LOCAL_IP ?= 127.0.0.1
export MPLBACKEND ?= Agg

.PHONY: help install demo test lint types tests tests-here tests-portable tests-spark parity cluster fuzz integrations wheel lowest bench docs format clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

install: $(STAMP)  ## make .venv with the package, its test tools and the example plugins

# What a user has: no Spark, no test tools. torch is pinned first, so that its CPU build is taken.
$(RUNTIME): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) torch==2.13.0
	$(PIP) -e .
	@touch $@

$(STAMP): $(RUNTIME) $(wildcard plugins/*/pyproject.toml)
	$(PIP) -e ".[dev]" hatchling editables
	$(PIP) --no-deps --no-build-isolation $(patsubst %/pyproject.toml,-e ./%,$(wildcard plugins/*/pyproject.toml))
	@touch $@

demo: $(RUNTIME)  ## evaluate two recommenders on the bundled sample
	@$(BIN)/bridgeval demo

test: lint types tests  ## lint, types and tests: what CI runs

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

# Spark mostly waits for its own processes, so its tests run in parallel with the others; each target prints when done.
tests: $(STAMP)
	@$(MAKE) --no-print-directory --output-sync=target -j2 tests-spark tests-portable

QUICK := not spark and not slow and not parity and not site and not integration and not install and not cluster
tests-here: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m "$(QUICK)"

# The portable kernels are what a GPU runs: metrics and goldens must hold with them too. The laws are left out for time;
# tests/test_device.py has every metric on these kernels.
tests-portable: $(STAMP) tests-here
	BRIDGEVAL_KERNELS=portable $(BIN)/python -m pytest -n 2 -m "$(QUICK)" tests/metrics tests/golden tests/batch

# Short jobs end before Java's second compiler pays.
tests-spark: $(STAMP)
	JDK_JAVA_OPTIONS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" $(BIN)/python -m pytest -m "spark and not slow"

parity: $(STAMP)  ## compare with the peers, each in an environment of its own
	$(BIN)/python benchmarks/peers/environments.py irspack lenskit pytrec_eval ranx recommenders recpack rectools replay
	$(BIN)/python -m pytest -m parity tests/parity

# Master, workers and executors on loopback, the commands of docs/spark.md with an environment that they pack; Spark Connect.
cluster: $(STAMP)  ## test a standalone Spark cluster, a killed executor, and Spark Connect
	$(PIP) "pyspark[connect]" hatchling
	$(BIN)/python -m pytest -n 0 -m cluster tests/spark

# Hostile cases for so long, then a command interrupted 200 times. A failure prints its seed.
FUZZ_SECONDS ?= 600
fuzz: $(STAMP)  ## damaged files, wrong types, odd names, laws on random data, signals, full disks
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS)
	$(BIN)/python -m tests.fuzz.interruptions 200

# Libraries that pin their own versions of pandas, Arrow and many others: an environment of their own.
$(INTEGRATIONS)/.installed: pyproject.toml constraints-integrations.txt
	@test -x $(INTEGRATIONS)/bin/python || $(PYTHON) -m venv $(INTEGRATIONS)
	$(INTEGRATIONS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-integrations.txt torch==2.13.0 -e ".[integrations]"
	@touch $@

# Other libraries' warnings are theirs; ours are errors, as in all tests, but for the two that pyproject.toml leaves out.
OWN_WARNINGS := -W error::bridgeval.errors.BridgevalWarning -W ignore::bridgeval.errors.SeenItemsWarning -W ignore::bridgeval.errors.LeakageWarning
integrations: $(INTEGRATIONS)/.installed  ## test trackers and training loops with the real packages
	KERAS_BACKEND=torch $(INTEGRATIONS)/bin/python -m pytest -m integration -W default $(OWN_WARNINGS) tests/integrations

wheel: $(STAMP)  ## build wheel and sdist in dist, and try the wheel in a fresh environment
	rm -rf dist
	$(BIN)/python -m hatchling build
	$(BIN)/python -m pytest -s -m install tests/test_install.py

# The lowest version of each dependency that pyproject.toml allows; their own warnings are theirs. Left out: the published schema, which a newer
# pydantic words otherwise, and a test that reads our CSV with pandas, which kept the last digit only later.
LOWEST := .envs/lowest
LOWEST_VERSIONS = $(shell $(PYTHON) -c "import tomllib; print(*(d.replace('>=', '==') for d in tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies']))")
lowest:  ## test with the lowest versions of the dependencies
	@test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check $(LOWEST_VERSIONS) -e . hatchling editables "pytest>=8" "pytest-xdist>=3.6" "hypothesis>=6.100" "polars>=1.20" "statsmodels>=0.14" "duckdb>=1.1" "aiohttp>=3.10"
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation $(patsubst %/pyproject.toml,-e ./%,$(wildcard plugins/*/pyproject.toml))
	$(LOWEST)/bin/python -m pytest -n 2 -W default $(OWN_WARNINGS) -m "$(QUICK) and not browser" tests --ignore tests/spark --deselect tests/cli/test_config.py::test_the_published_schema_is_up_to_date --deselect tests/test_systems.py::test_every_export_has_the_same_numbers

bench: $(STAMP)  ## measure against the peers
	$(BIN)/python benchmarks/peers/environments.py ir_measures pytrec_eval ranx rectools replay torchmetrics
	$(BIN)/python benchmarks/bench.py

# Built without a request to any other host; a warning is an error. The tests look at the pages in Chromium.
DOCS := $(VENV)/.docs
$(DOCS): $(STAMP)
	$(PIP) -e ".[docs]"
	@touch $@

docs: $(DOCS)  ## build the site in docs/_build/html, and check it in a browser
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	$(BIN)/python -m pytest -m site tests/test_site.py

format: $(STAMP)  ## put the code in shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove the environments
	rm -rf $(VENV) .envs
