# Each target does its own set-up first (tools/setup), which costs nothing when it is done already.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help build dev demo test verify check docs site screenshots format bench validate adios2 lock clean

ENV := . tools/env.sh &&
RANKS ?= 2
ENGINE ?= tcp
CXX_FILES = $$(find src include bench tests examples -name "*.[ch]pp" -o -name "*.[ch]" 2>/dev/null)

help:  ## print this
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

build:  ## set up, and build and install the package into .venv
	@tools/setup

dev: build  ## link the Python files of .venv to python/: a change is seen without a build, until the next one
	@tools/link_python

demo: build  ## a turbulent channel on RANKS (2) ranks, drawn live; a minute; ENGINE=inproc: by its own ranks; LIVE=1: in a browser
	$(ENV) python tools/demo.py --ranks $(RANKS) --engine $(ENGINE) $(if $(LIVE),--live) $(ARGS)

test:  ## every test; ARGS: folders of tests/, then arguments of pytest
	@tools/setup --tests
	@tools/test $(ARGS)

verify:  ## tests against theory, exact solutions and published data alone
	@tools/setup --tests
	@tools/test tests/verification $(ARGS)

check:  ## formatting, lint and types, as the pre-commit hooks do
	@tools/setup --check
	$(ENV) ruff check .
	$(ENV) ruff format --check .
	$(ENV) clang-format --dry-run -Werror $(CXX_FILES)
	$(ENV) mypy
	$(ENV) lint-imports
	tools/check_page

docs: build  ## write the reference pages from the code, and the table of README.md
	$(ENV) python tools/reference_pages.py
	$(ENV) python tools/readme_figures.py

site: build  ## the documentation as a site in build/site, for reading offline; a broken link fails
	$(ENV) VIRTUAL_ENV=$$PWD/.venv uv pip install -q --group site -c requirements.lock
	$(ENV) sphinx-build -q -W --keep-going -j auto -c docs -d build/site-cache . build/site
	@echo "open build/site/index.html"

screenshots: build  ## the picture of the live view in docs/images, by its test
	@tools/setup --tests
	UZUSHIO_SCREENSHOTS=$(CURDIR)/docs/images tools/test tests/browser -k shows_the_steps_of_its_solver

format:  ## let the formatters decide
	@tools/setup --check
	$(ENV) ruff check --fix-only -q .
	$(ENV) ruff format .
	$(ENV) clang-format -i $(CXX_FILES)

bench:  ## every benchmark: a table here, records in bench/results/
	@tools/setup --bench
	$(ENV) python bench $(ARGS)

validate: build  ## the long comparison with published DNS; resumes where it stopped
	$(ENV) python validation/channel180.py $(ARGS)

# Installed below .venv as any library, bin/ and lib/, with the Python package beside ours.
ADIOS2_BUILD = --no-binary adios2 --no-build-isolation \
    -C experimental=true -C wheel.install-dir=/data \
    -C cmake.define.ADIOS2_USE_MPI=ON -C cmake.define.ADIOS2_USE_CURL=OFF \
    -C cmake.define.ADIOS2_USE_PIP=OFF

adios2: build  ## ADIOS2 with MPI in place of the wheel without (five minutes); back by WHEEL=1
	$(ENV) VIRTUAL_ENV=$$PWD/.venv CC=mpicc CXX=mpicxx uv pip install --reinstall-package adios2 \
	    --no-deps $(if $(WHEEL),,$(ADIOS2_BUILD)) \
	    "$$(sed -n 's/^\(adios2==[^ ]*\).*/\1/p' requirements.lock)"
	$(ENV) python -c 'import adios2; print("ADIOS2 with MPI:", adios2.is_built_with_mpi)'

lock: build  ## pin the packages of pyproject.toml anew in requirements.lock
	$(ENV) uv pip compile -q --universal --python-version 3.11 --generate-hashes --upgrade \
	    --custom-compile-command "make lock" pyproject.toml --all-extras --group build --group test --group site \
	    -o requirements.lock

clean:  ## remove build/ and .venv/
	rm -rf build dist .venv tools/page/node_modules compile_commands.json
