"""Run a command beside a database server of its own. Run: python -m benchmarks.servers postgresql -- COMMAND"""

import argparse
import os
import signal
import subprocess
import sys

from benchmarks.servers import KINDS, NotInstalled, Server


def around(server: Server, command: list[str]) -> int:
    """Run a command that finds the server in DATABASE_URL; its exit code, as a shell gives it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(128 + signal.SIGHUP))
    with server:
        server.create("jobs")
        signal.signal(signal.SIGINT, lambda *_: None)  # the terminal sends it to the command as well
        with subprocess.Popen(command, env={**os.environ, "DATABASE_URL": server.url("jobs")}) as process:
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, lambda number, _: process.send_signal(number))
            code = process.wait()
    return code if code >= 0 else 128 - code


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a command beside a database server of its own.")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--durable", action="store_true", help="as safe as by default, not as quick as tests like it")
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="after --; finds the server in DATABASE_URL")
    given = parser.parse_args()
    try:
        return around(KINDS[given.kind](durable=given.durable), given.command)
    except (NotInstalled, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main())
