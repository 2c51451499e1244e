# SPDX-License-Identifier: Apache-2.0
"""What an end-to-end test stands on: a private PostgreSQL, servers, an HTTP client.

Everything listens on 127.0.0.1 at a free port and lives in a temporary folder. Whatever is started
here also ends here: by the `with` blocks and, if the test runner itself is killed, by the signal
that the kernel then sends (setpriv --pdeathsig).
"""

import glob
import http.client
import itertools
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence

from tls import Tls

ROOT = pathlib.Path(__file__).resolve().parents[2]


def binaries() -> pathlib.Path:
    """The folder of the programs under test: TIDEMILL_BIN, or else the release build."""
    return pathlib.Path(os.environ.get("TIDEMILL_BIN", str(ROOT / "build" / "release" / "bin")))


def wait_until(what: str, ready: Callable[[], Any], timeout_s: float = 60.0) -> Any:
    """Asks until the answer is true and returns it; the one place where tests wait."""
    deadline = time.monotonic() + timeout_s
    while True:
        answer = ready()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout_s:g} s for {what}")
        time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def tail(path: pathlib.Path, lines: int = 60) -> str:
    if not path.exists():
        return f"({path} does not exist)"
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


def whole_lines(path: pathlib.Path) -> List[str]:
    """Those that are there to their end, of a file that a program still writes."""
    text = path.read_text(errors="replace") if path.exists() else ""
    return text.rpartition("\n")[0].splitlines()


def found_below(folder: pathlib.Path, pattern: str) -> List[pathlib.Path]:
    """What is there now, in a folder that programs change meanwhile: what vanishes is left out,
    where pathlib's own globs raise. `**` stands for any folders, hidden ones too."""
    names = glob.glob(pattern, root_dir=folder, recursive=True, include_hidden=True)
    return sorted(folder / name for name in names)


def answer_of(line: socket.socket) -> bytes:
    """What comes, in however many pieces, up to the end of a JSON object."""
    line.settimeout(60)
    got = b""
    while not got.endswith(b"}"):
        piece = line.recv(4096)
        assert piece, got
        got += piece
    return got


def ends_with_us(command: Sequence[str], sig: str) -> List[str]:
    """The command, changed so that it gets `sig` when this process dies."""
    setpriv = shutil.which("setpriv")
    return ([setpriv, "--pdeathsig", sig] if setpriv else []) + [str(word) for word in command]


def children(pid: int) -> List[int]:
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            stat = pathlib.Path(path).read_text()
        except OSError:
            continue
        if int(stat.rpartition(")")[2].split()[1]) == pid:
            found.append(int(path.split("/")[2]))
    return found


def alive(pid: int) -> bool:
    """False also for a process that is dead but that nobody has waited for."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


class Postgres:
    """A private cluster. It keeps its data over stop, kill9 and start; close() removes it."""

    def __init__(self, settings: Optional[Mapping[str, str]] = None) -> None:
        self.bin = self._find_bin()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tidemill-pg-"))
        self.data = self.folder / "data"
        self.log = self.folder / "postgres.log"
        self.port = free_port()
        # What a killed process has written is safe in the kernel: fsync is for machines that lose
        # their power, and for tests that measure what writing costs.
        self._settings = {"listen_addresses": "127.0.0.1", "max_connections": "200"}
        self._settings.update(fsync="off", full_page_writes="off")
        self._settings.update(settings or {})
        self._process: Optional[subprocess.Popen] = None
        # The database refuses to run as root, so root runs it as somebody else.
        self._account: Mapping[str, Any] = {}
        try:
            if os.geteuid() == 0:
                user = self._unprivileged()
                os.chown(self.folder, user.pw_uid, user.pw_gid)
                self._account = dict(user=user.pw_uid, group=user.pw_gid, extra_groups=[])
            self._initialize()
        except BaseException:
            self.close()
            raise

    @staticmethod
    def _find_bin() -> pathlib.Path:
        folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
        config = shutil.which("pg_config")
        if config:
            out = subprocess.run([config, "--bindir"], stdout=subprocess.PIPE, text=True)
            folders.insert(0, out.stdout.strip())
        for folder in folders:
            if os.path.exists(os.path.join(folder, "initdb")):
                return pathlib.Path(folder)
        raise RuntimeError("no PostgreSQL here: initdb was not found")

    @staticmethod
    def _unprivileged() -> pwd.struct_passwd:
        for name in ("postgres", "nobody"):
            try:
                return pwd.getpwnam(name)
            except KeyError:
                pass
        raise RuntimeError("as root, the tests need a user 'postgres' or 'nobody'")

    def _run(self, *command: str) -> None:
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **self._account,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]} failed:\n{done.stdout}")

    def _initialize(self) -> None:
        options = ["--auth=trust", "--username=tidemill", "--encoding=UTF8", "--locale=C"]
        self._run("initdb", f"--pgdata={self.data}", "--no-sync", *options)

    @property
    def conninfo(self) -> str:
        return self.conninfo_of("postgres")

    def conninfo_of(self, database: str) -> str:
        return f"host=127.0.0.1 port={self.port} user=tidemill dbname={database}"

    @property
    def pid(self) -> int:
        """The postmaster's process, as it wrote it down itself."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def start(self) -> "Postgres":
        """Starts the cluster, after a crash with recovery, and waits until it takes connections."""
        if self._process is not None:
            raise RuntimeError("PostgreSQL runs already")
        for attempt in range(3):
            settings = dict(
                self._settings, port=str(self.port), unix_socket_directories=str(self.folder)
            )
            options = [f"--{name}={value}" for name, value in settings.items()]
            command = [str(self.bin / "postgres"), "-D", str(self.data), *options]
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(
                    ends_with_us(command, "SIGINT"),
                    cwd=self.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    **self._account,
                )
            # After a crash it waits for the disk, too.
            wait_until("PostgreSQL", lambda: self._ready() or self._process.poll() is not None, 300)
            if self._process.poll() is None:
                return self
            self._process = None
            # Somebody may have taken the port since we looked; a server that knows it is gone then.
            if attempt == 2 or "could not bind" not in tail(self.log):
                break
            self.port = free_port()
        raise RuntimeError(f"PostgreSQL did not start:\n{tail(self.log)}")

    def _ready(self) -> bool:
        probe = [str(self.bin / "pg_isready"), "-q", "-U", "tidemill", "-d", "postgres"]
        probe += ["-h", str(self.folder), "-p", str(self.port)]
        return subprocess.run(probe).returncode == 0

    def stop(self) -> None:
        """An orderly end: open connections are cut, data are written."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            # Its last checkpoint waits for the disk, which may have much to write for others.
            self._process.wait(300)
        except subprocess.TimeoutExpired:
            self.kill9()
            raise
        self._process = None

    def kill9(self) -> None:
        """A crash: nothing is written any more, by the postmaster or by any of its children."""
        if self._process is None:
            return
        pid = self._process.pid
        if self._process.poll() is None:
            pid = self.pid if (self.data / "postmaster.pid").exists() else pid
            # Stopped first, so that it starts no child that we would not see.
            os.kill(pid, signal.SIGSTOP)
            family = [pid, *children(pid)]
            for member in family:
                try:
                    os.kill(member, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self._process.wait(60)
            wait_until("PostgreSQL's end", lambda: not any(alive(member) for member in family))
        self._process = None

    def sql(self, text: str, database: str = "postgres") -> str:
        """Runs statements with psql; gives the rows as lines, columns parted by '|'."""
        # Not that of Debian's /usr/bin, a Perl program that looks for this one each time.
        psql = self.bin / "psql"
        done = subprocess.run(
            [psql, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", self.conninfo_of(database)],
            input=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if done.returncode != 0:
            raise RuntimeError(f"psql failed: {done.stderr.strip()}")
        return done.stdout.strip()

    def create_database(self, name: str, template: str = "") -> str:
        """Makes a database, empty or as `template` is, and returns its conninfo."""
        self.sql(f'create database "{name}"' + (f' template "{template}"' if template else ""))
        return self.conninfo_of(name)

    def drop_database(self, name: str) -> None:
        self.sql(f'drop database if exists "{name}" with (force)')

    def close(self) -> None:
        try:
            self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "Postgres":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Http:
    """JSON over HTTP, or HTTPS, to one address. Each request has a connection of its own."""

    def __init__(
        self,
        port: int,
        host: str = "127.0.0.1",
        timeout_s: float = 60.0,
        tls: Optional[ssl.SSLContext] = None,
        token: str = "",
    ) -> None:
        self.host, self.port, self.timeout_s, self.tls = host, port, timeout_s, tls
        self.token = token

    def _connect(self) -> http.client.HTTPConnection:
        if self.tls is None:
            return http.client.HTTPConnection(self.host, self.port, timeout=self.timeout_s)
        return http.client.HTTPSConnection(
            self.host, self.port, timeout=self.timeout_s, context=self.tls
        )

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Answer:
        """Sends bytes as they are and everything else, except None, as JSON."""
        sent = dict(headers or {})
        if self.token and not any(name.lower() in ("authorization", "cookie") for name in sent):
            sent["Authorization"] = f"Bearer {self.token}"
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = self._connect()
        try:
            connection.request(method, path, body=body, headers=sent)
            answer = connection.getresponse()
            got = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, got, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **more: Any) -> Answer:
        return self.request("GET", path, **more)

    def post(self, path: str, body: Any = None, **more: Any) -> Answer:
        return self.request("POST", path, body, **more)

    def delete(self, path: str, **more: Any) -> Answer:
        return self.request("DELETE", path, **more)


class Program:
    """One of our long-running programs. Its stdout and stderr go to `log`."""

    def __init__(self, folder: pathlib.Path, name: str) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._process: Optional[subprocess.Popen] = None

    def _spawn(self, command: Sequence[str], **more: Any) -> None:
        if self._process is not None and self._process.poll() is None:
            raise RuntimeError(f"{self.name} runs already")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ends_with_us(command, "SIGKILL"),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **more,
            )

    def _must_run(self) -> None:
        if self._process is None or self._process.poll() is not None:
            code = self._process.returncode if self._process else None
            raise RuntimeError(f"{self.name} ended with {code} at its start:\n{tail(self.log)}")

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError(f"{self.name} was not started")
        return self._process.pid

    def kill9(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(60)

    def wait(self, timeout_s: float = 60.0) -> int:
        """Until it has ended by itself, with all its threads; its exit code."""
        if self._process is None:
            raise RuntimeError(f"{self.name} was not started")
        return self._process.wait(timeout_s)

    def terminate(self, timeout_s: float = 60.0) -> int:
        """SIGTERM, then the exit code; if it does not end it is killed, and that is an error."""
        if self._process is None:
            raise RuntimeError(f"{self.name} was not started")
        if self._process.poll() is None:
            self._process.terminate()
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill9()
            raise TimeoutError(f"{self.name} did not end within {timeout_s:g} s of SIGTERM")

    def rss_bytes(self) -> int:
        pages = pathlib.Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def cpu_seconds(self) -> float:
        """Time on a processor, in user and kernel mode, since its start."""
        stat = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def server_tool(*words: str) -> str:
    """What a command of tidemill-server prints that does not serve."""
    done = subprocess.run(
        [str(binaries() / "tidemill-server"), *words], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise RuntimeError(f"tidemill-server {words[0]} failed: {done.stderr}")
    return done.stdout


class Server(Program):
    """One tidemill-server, in clear text or, with certificates, with TLS."""

    def __init__(
        self,
        conninfo: str,
        folder: pathlib.Path,
        name: str,
        *flags: str,
        tls: Optional[Tls] = None,
    ) -> None:
        super().__init__(folder, name)
        self.conninfo, self.tls, self.address = conninfo, tls, "127.0.0.1"
        self.flags = [*flags, *(tls.flags if tls else ())]
        self.port_file = folder / f"{name}.port"
        self.http: Http = None  # type: ignore[assignment]
        # Those of all servers of this folder: an admin's for all projects, and a pool's.
        self.token_file, self.join_file = folder / "admin.token", folder / "join.token"
        self.keys_file = folder / "secret.keys"
        self.keys_flags = ["--secret-keys", str(self.keys_file)]

    @property
    def token(self) -> str:
        return self.token_file.read_text().strip()

    @property
    def join_token(self) -> str:
        return self.join_file.read_text().strip()

    def _make_access(self) -> None:
        if not self.keys_file.exists():
            self.keys_file.write_text(server_tool("secret-key"))
        token = ["token", "--database", self.conninfo, "--name", "test", "--file"]
        server_tool(*token, str(self.token_file), "--role", "admin", "--project", "*")
        server_tool(*token, str(self.join_file), "--join", "default")

    def start(self, timeout_s: float = 60.0) -> "Server":
        """Starts it, also again after its end (at the same port), and waits for /healthz."""
        if not self.join_file.exists():
            self._make_access()
        self.port_file.unlink(missing_ok=True)
        command = [str(binaries() / "tidemill-server"), "serve", "--database", self.conninfo]
        port = self.http.port if self.http else 0
        command += ["--listen", f"{self.address}:{port}", "--port-file", str(self.port_file)]
        command += self.keys_flags
        # No test asks a registry that it has not made.
        command += ["--registry-lookups", "listed"]
        command += self.flags
        self._spawn(command)
        try:
            wait_until(f"{self.name} to answer /healthz", self._healthy, timeout_s)
        except BaseException:
            self.kill9()
            raise
        return self

    def _healthy(self) -> bool:
        self._must_run()
        text = self.port_file.read_text().strip() if self.port_file.exists() else ""
        if not text:
            return False
        tls = self.tls.context() if self.tls else None
        self.http = Http(int(text), tls=tls, token=self.token)
        try:
            return self.http.get("/healthz").status == 200
        except OSError:
            return False

    @property
    def port(self) -> int:
        return self.http.port

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def ca_flags(self) -> List[str]:
        """What a client of ours needs to believe it."""
        return ["--ca", str(self.tls.ca)] if self.tls else []


class Env:
    """One test's world: a fresh database of a running cluster, and the servers the test starts."""

    _numbers = itertools.count(1)

    def __init__(self, postgres: Postgres, folder: pathlib.Path, empty: bool = False) -> None:
        """The database has its tables and two tokens, or nothing at all."""
        self.postgres = postgres
        self.folder = folder
        self.servers: List[Server] = []
        self.database = f"e2e_{next(self._numbers)}"
        template = "" if empty else self._template(postgres)
        self.conninfo = postgres.create_database(self.database, template)
        if template:
            for file in (postgres.folder / "template").iterdir():
                shutil.copy(file, folder)

    @staticmethod
    def _template(postgres: Postgres) -> str:
        """A database with all migrations, made once a cluster: to copy it takes a tenth of the time
        of migrating. Its tokens and its key are beside the cluster."""
        name, kept = "template_e2e", postgres.folder / "template"
        if not kept.exists():
            postgres.drop_database(name)
            making = postgres.folder / "template-new"
            shutil.rmtree(making, ignore_errors=True)
            making.mkdir()
            Server(postgres.create_database(name), making, "template")._make_access()
            making.rename(kept)
        return name

    def server(self, *flags: str, start: bool = True, tls: Optional[Tls] = None) -> Server:
        name = f"server-{len(self.servers) + 1}"
        server = Server(self.conninfo, self.folder, name, *flags, tls=tls)
        self.servers.append(server)  # before its start, so that its log is shown if that fails
        return server.start() if start else server

    def sql(self, text: str) -> str:
        return self.postgres.sql(text, self.database)

    @property
    def objects_flags(self) -> List[str]:
        """For a server: an object store that is a folder of this world."""
        return ["--objects", f"file://{self.folder}/objects"]

    def logs(self) -> List[pathlib.Path]:
        return [server.log for server in self.servers] + [self.postgres.log]

    def close(self) -> None:
        for server in self.servers:
            server.kill9()
        if self.postgres._process is not None:
            self.postgres.drop_database(self.database)
