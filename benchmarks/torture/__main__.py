"""The command line of the torture; the package says what it is."""

import argparse
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from benchmarks.servers import NotInstalled
from benchmarks.torture import __doc__ as description
from benchmarks.torture import course, verdict


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.torture",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--db", choices=("sqlite", "postgresql", "mariadb"), required=True, help="a server of its own")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long there is harm (default: 5)")
    parser.add_argument("--workers", type=int, default=4, help="runscheduler processes; the last one has two (4)")
    parser.add_argument("--threads", type=int, default=2, help="of each worker (2)")
    parser.add_argument("--producers", type=int, default=3, help="processes that enqueue (3)")
    parser.add_argument("--kills-per-minute", type=float, default=30.0, help="by kill -9, of processes and server (30)")
    parser.add_argument("--seed", type=int, help="repeats the gremlin's choices; not the races")
    parser.add_argument("--folder", type=Path, help="for ledger, logs and SQLite file; stays (else a temporary one)")
    given = parser.parse_args()
    given.seed = random.randrange(1_000_000) if given.seed is None else given.seed
    return given


def main() -> int:
    given = options()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    folder = (given.folder or Path(tempfile.mkdtemp(prefix="jobs-torture-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        print(f"{folder} is not empty. Name a new folder.", file=sys.stderr)
        return 2
    is_kept = True  # however it ends, but well
    try:
        done = course.run(given, folder, verdict.tell)
        is_kept = given.folder is not None or not done.is_good
        return int(not done.is_good)
    except NotInstalled as error:
        is_kept = given.folder is not None
        print(error, file=sys.stderr)
        return 2
    finally:
        if is_kept:
            print(f"Ledger and logs: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
