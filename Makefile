# Every target sets up what it needs; a second run installs nothing.
PYTHON ?= python3
VENV ?= .venv
RUN := $(VENV)/bin

.PHONY: demo test check format lint types bench smoke campaign locked docs clean

demo: $(VENV)/.installed-lab  ## train hard and soft crops on clothes, say what each gained, write a page in softaug-demo
	$(RUN)/softaug demo

test: $(VENV)/.installed-dev  ## all tests, doctests and examples, in two processes
	$(RUN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

check: format lint types test  ## everything a commit must pass

format: $(VENV)/.installed-dev
	$(RUN)/ruff format .

lint: $(VENV)/.installed-dev
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .

types: $(VENV)/.installed-dev
	$(RUN)/mypy

bench: $(VENV)/.installed-peers  ## peers side by side; some minutes
	$(RUN)/python -m benchmarks

smoke: $(VENV)/.installed-lab  ## every table and figure end to end on tiny runs; at most 10 minutes
	rm -rf softaug-smoke
	$(RUN)/softaug reproduce all --scale smoke --seeds 1 --local --out softaug-smoke

BUDGET ?= 60
SEED ?= 0
campaign: $(VENV)/.installed-dev  ## signals, damage, faults, API calls, hostile files; BUDGET=60 minutes, SEED=0
	$(RUN)/python -m campaign --budget $(BUDGET) --seed $(SEED)

locked: $(RUN)/python  ## install the lab with the hash of every download checked (Linux)
	$(RUN)/python -m pip install --require-hashes --no-deps --requirement requirements-lab.txt
	$(RUN)/python -m pip install --no-deps --no-build-isolation --editable .

docs: $(VENV)/.installed-docs  ## the site with search and reference, into site/; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(RUN)/mkdocs build --strict --quiet

clean:
	rm -rf $(VENV) site softaug-demo softaug-smoke

$(RUN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-%: pyproject.toml constraints.txt | $(RUN)/python
	$(RUN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$*]'
	touch $@
