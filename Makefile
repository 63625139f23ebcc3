PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo demo-traces test lint clean

# An installed package is newer than the metadata it was installed from.
$(VENV)/.installed: pyproject.toml setup.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -qq --upgrade pip
	$(BIN)/pip install -qq --editable .
	touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/pip install -qq --editable '.[test]'
	$(BIN)/pip install -qq $(TORCH)
	touch $@

# On Linux the default wheel of PyTorch brings several GB of CUDA; tests need none of it.
TORCH ?= torch

demo: $(VENV)/.installed
	rm -rf out/demo
	$(BIN)/corpusbeam build demo --output out/demo
	$(BIN)/corpusbeam verify out/demo

demo-traces: $(VENV)/.installed
	rm -rf out/demo-traces
	$(BIN)/corpusbeam traces demo-traces --output out/demo-traces
	$(BIN)/corpusbeam verify out/demo-traces

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest --numprocesses auto $(PYTEST_ARGS)

clean:
	rm -rf $(VENV) out build dist *.egg-info

.PHONY: bench

# datatrove wants an environment of its own; benchmarks/README.md says how to do without it.
$(VENV)/datatrove/.installed: benchmarks/datatrove-requirements.txt $(VENV)/.installed
	$(PYTHON) -m venv $(VENV)/datatrove
	$(VENV)/datatrove/bin/pip install --quiet --requirement $<
	touch $@

bench: $(VENV)/datatrove/.installed
	$(BIN)/python -m benchmarks.run $(BENCH_ARGS)

.PHONY: lock

LOCK = $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url \
	--python-version 3.11 --python-platform x86_64-unknown-linux-gnu \
	--custom-compile-command "make lock" $(LOCK_ARGS)

# What the image installs, for its Python and its platform.
lock: $(VENV)/.installed
	$(BIN)/pip install -qq uv
	$(LOCK) pyproject.toml --output-file requirements/image.txt
	$(LOCK) requirements/build.in --output-file requirements/build.txt
