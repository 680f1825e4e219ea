# PYTHON makes the virtual environment (3.11 or newer); VENV is where it lies.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: help demo test lint clean

help:
	@echo "make demo   the site with example data on http://127.0.0.1:8000/"
	@echo "make test   the test-suite; what a machine has no database for is skipped, and listed at the end"
	@echo "make lint   style, format and direction of imports"
	@echo "make clean  remove virtual environments and caches (var/, the site's own data, stays)"

demo: $(VENV)/.site-installed
	@$(BIN)/python manage.py demo

test: $(VENV)/.tests-installed
	$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/.tests-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

clean:
	rm -rf .venv .venv-* "$(VENV)" .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp files say what is installed: a second call does nothing until the requirements change.

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	"Python 3.11 or newer is needed, and $(PYTHON) is %d.%d. Name another: PYTHON=python3.13" % sys.version_info[:2])'
	$(PYTHON) -m venv "$(VENV)"
	@touch "$@"

$(VENV)/.site-installed: $(VENV)/.created requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch "$@"

$(VENV)/.tests-installed: $(VENV)/.created requirements.txt tests/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	@touch "$@" "$(VENV)/.site-installed"
