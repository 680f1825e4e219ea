"""PostgreSQL and MariaDB: their programs, and how they are told what to do."""

import signal
from pathlib import Path

from benchmarks.servers.server import Server

CONNECTIONS = 300


class PostgreSQL(Server):
    name = "PostgreSQL"
    package = "postgresql"
    scheme = "postgres"
    system_user = administrator = "postgres"
    programs = (("initdb",), ("postgres",), ("psql",))
    orderly = signal.SIGINT  # "fast": it does not wait until its clients leave

    @classmethod
    def directories(cls) -> list[str]:
        found = Path("/usr/lib/postgresql").glob("*/bin")
        return [str(path) for path in sorted(found, key=lambda path: float(path.parent.name), reverse=True)]

    def install(self) -> list[str]:
        options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"]
        return [self.program("initdb"), f"--pgdata={self.folder / 'data'}", *options, *["--no-sync"][self.durable :]]

    def command(self) -> list[str]:
        options = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": CONNECTIONS,
        }
        if not self.durable:
            options |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        pairs = [part for key, value in options.items() for part in ("-c", f"{key}={value}")]
        return [self.program("postgres"), "-D", str(self.folder / "data"), *pairs]

    def client(self, sql: str) -> list[str]:
        target = ["--host=127.0.0.1", f"--port={self.port}", "--username=postgres", "--dbname=postgres"]
        return [self.program("psql"), "--no-psqlrc", "--quiet", *target, f"--command={sql}"]


class MariaDB(Server):
    name = "MariaDB"
    package = "mariadb-server"
    scheme = "mysql"
    system_user = "mysql"
    administrator = "root"
    programs = (("mariadb-install-db", "mysql_install_db"), ("mariadbd", "mysqld"), ("mariadb", "mysql"))

    def install(self) -> list[str]:
        options = ["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]
        return [self.program(*self.programs[0]), *options, f"--datadir={self.folder / 'data'}"]

    def command(self) -> list[str]:
        options = {
            "datadir": self.folder / "data",
            "socket": self.folder / "socket",
            "pid-file": self.folder / "data" / "server.pid",
            "port": self.port,
            "bind-address": "127.0.0.1",
            "skip-name-resolve": "ON",
            "max-connections": CONNECTIONS,
            "character-set-server": "utf8mb4",
        }
        if not self.durable:
            options |= {"innodb-flush-log-at-trx-commit": 0, "innodb-doublewrite": 0, "skip-log-bin": "ON"}
        return [
            self.program(*self.programs[1]),
            "--no-defaults",
            *(f"--{key}={value}" for key, value in options.items()),
        ]

    def client(self, sql: str) -> list[str]:
        target = ["--no-defaults", "--host=127.0.0.1", f"--port={self.port}", "--user=root"]
        return [self.program(*self.programs[2]), *target, f"--execute={sql}"]


KINDS = {"postgresql": PostgreSQL, "mariadb": MariaDB}
