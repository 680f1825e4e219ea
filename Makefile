# PYTHON makes the virtual environment (3.11 or newer); VENV is where it lies. CHROMIUM names the browser of the browser
# tests; without it, it is looked for on the PATH.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# On which database `make test` runs: sqlite, postgresql or mariadb. The servers are private ones, which live in a
# temporary folder for as long as the tests run; only their programs must be installed.
DB ?= sqlite
ON_SERVER_postgresql := $(BIN)/python -m benchmarks.servers postgresql --
ON_SERVER_mariadb := $(BIN)/python -m benchmarks.servers mariadb --
DRIVER_mariadb := $(VENV)/.mariadb-installed

.PHONY: help demo test lint screenshots clean

help:
	@echo "make demo   the site with example data on http://127.0.0.1:8000/"
	@echo "make test   the test-suite; what a machine has no database or browser for is skipped, and listed at the end"
	@echo "            on a server of its own: make test DB=postgresql, make test DB=mariadb"
	@echo "make lint   style, format and direction of imports"
	@echo "make screenshots   every page, light and dark, wide and narrow, into var/screenshots (FOLDER); needs a Chromium"
	@echo "make clean  remove virtual environments and caches (var/, the site's own data, stays)"

demo: $(VENV)/.site-installed
	@$(BIN)/python manage.py demo

test: $(VENV)/.tests-installed $(DRIVER_$(DB))
	@case "$(DB)" in sqlite|postgresql|mariadb) ;; *) echo "DB must be sqlite, postgresql or mariadb, got $(DB)."; exit 2;; esac
	$(ON_SERVER_$(DB)) $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile $(ARGS)

lint: $(VENV)/.tests-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

screenshots: $(VENV)/.tests-installed
	$(BIN)/python -m tests.browser.screenshots $(or $(FOLDER),var/screenshots)

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

$(VENV)/.mariadb-installed: $(VENV)/.tests-installed tests/requirements-mariadb.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/requirements-mariadb.txt
	@touch "$@"
