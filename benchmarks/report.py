"""What a benchmark prints: versions and settings, a table, its progress."""

import argparse
import os
import platform
import sqlite3
import sys
from collections.abc import Sequence
from statistics import median, quantiles


def options(description: str, *, rounds: int | None = None, has_db: bool = False, **flags: str) -> argparse.Namespace:
    """The command line: --quick, --rounds and --db where there are any, and further flags by name with their help."""
    parser = argparse.ArgumentParser(description=description)
    if has_db:
        parser.add_argument("--db", metavar="URL", help="measure on the server of this URL instead of on SQLite")
    parser.add_argument("--quick", action="store_true", help="a smaller and shorter measurement, to see that it works")
    if rounds:
        parser.add_argument("--rounds", type=int, help=f"how often everything is repeated (default: {rounds})")
    for name, text in flags.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    given = parser.parse_args()
    if has_db and given.db:
        os.environ["BENCHMARKS_DATABASE_URL"] = given.db
    if rounds:
        given.rounds = given.rounds or (2 if given.quick else rounds)
    return given


def heading(title: str, given: argparse.Namespace) -> None:
    import django

    from jobs.conf import get_settings

    jobs = get_settings()
    print(f"{title}{' (quick)' if given.quick else ''}")
    print(
        f"  Python {platform.python_version()}, Django {django.get_version()}, {_database()}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    print(
        f"  JOBS: poll {jobs.POLL_SECONDS:g} s, heartbeat {jobs.HEARTBEAT_SECONDS:g} s, "
        f"ageing {jobs.AGEING_SECONDS or 'none (strict)'}",
        flush=True,
    )


def _database() -> str:
    from django.db import connection

    if connection.vendor == "sqlite":
        options = connection.settings_dict["OPTIONS"]
        of_file = f"{options['init_command']} transaction_mode={options['transaction_mode']}"
        return f"SQLite {sqlite3.sqlite_version} ({of_file})"
    return f"{connection.display_name} {'.'.join(map(str, connection.get_database_version()))}"


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """The first column stands left, the others right."""
    cells = [list(map(str, row)) for row in [columns, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    print()
    for row in cells:
        first, *others = zip(row, widths, strict=True)
        print("  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]))
    print(flush=True)


def spread(values: Sequence[float], digits: int = 0) -> str:
    """The median, and in brackets the least and the greatest."""
    low, middle, high = (f"{value:,.{digits}f}" for value in (min(values), median(values), max(values)))
    return f"{middle} ({low} - {high})"


def percentile(values: Sequence[float], percent: int) -> float:
    """Percentile by the inclusive method, so that it is never beyond what was measured. Needs two values."""
    return quantiles(values, n=100, method="inclusive")[percent - 1]


def progress(text: str) -> None:
    """Say on stderr what is being measured: over the last such line on a terminal, in lines of its own elsewhere."""
    is_terminal = sys.stderr.isatty()
    print(f"\r\033[K{text}" if is_terminal else text, end="" if is_terminal else "\n", file=sys.stderr, flush=True)


def done() -> None:
    """Remove the line of progress from a terminal."""
    if sys.stderr.isatty():
        progress("")
