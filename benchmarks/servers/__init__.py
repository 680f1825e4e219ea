"""Private database servers in a temporary folder, which may be stopped, killed, frozen and started again at will.

    with PostgreSQL(durable=False) as server:
        server.create("jobs")
        os.environ["DATABASE_URL"] = server.url("jobs")

Or around a command, which finds the server in DATABASE_URL:

    python -m benchmarks.servers postgresql -- python -m pytest

Works as a plain user and as root; the servers refuse to run as root, so there they run as their own system user. Knows
nothing of Django. Processes are looked up in /proc, as Linux has it.
"""

from benchmarks.servers.kinds import KINDS, MariaDB, PostgreSQL
from benchmarks.servers.server import NotInstalled, Server

__all__ = ["KINDS", "MariaDB", "NotInstalled", "PostgreSQL", "Server"]
