# Common commands; CONTRIBUTING.md says when to use which. `make` lists them.
PYTHON ?= .venv/bin/python
T ?= tests/test_exact.py

.PHONY: help setup test part full style pages site audit
help:  ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 8

setup:  ## make the environment .venv and install Adyton with everything that tests need
	python3 -m venv .venv && .venv/bin/pip install --quiet -e '.[test]'

test:  ## run the tests as CI does, style and types among them
	$(PYTHON) -m pytest -n 2

part:  ## run part of the tests: make part T=tests/plans/test_dawa.py, or T="-k dawa"
	$(PYTHON) -m pytest -n 0 $(T)

full:  ## run all tests, the long audits included (hours)
	$(PYTHON) -m pytest -n 2 -m "full or not full"

style:  ## check style and types
	$(PYTHON) -m ruff check . && $(PYTHON) -m ruff format --check . && $(PYTHON) -m mypy

pages:  ## write again what docs/ says about the code, the drawing of the house included
	$(PYTHON) docs/_hooks/write_pages.py

site:  ## build the site of docs/ into site/
	$(PYTHON) -m mkdocs build --strict

audit:  ## attack the noise, the mechanisms, the accounting and the ledger for some minutes
	$(PYTHON) -m adyton audit
