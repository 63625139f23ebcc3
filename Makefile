PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint clean

# An installed package is newer than the metadata it was installed from.
$(VENV)/.installed: pyproject.toml setup.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/pip install --quiet --editable '.[test]'
	$(BIN)/pip install --quiet $(TORCH)
	touch $@

# On Linux the default wheel of PyTorch brings several GB of CUDA; tests need none of it.
TORCH ?= torch

demo: $(VENV)/.installed
	rm -rf out/demo
	$(BIN)/corpusbeam build demo --output out/demo
	$(BIN)/corpusbeam verify out/demo

test: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest $(PYTEST_ARGS)

clean:
	rm -rf $(VENV) out build dist *.egg-info
