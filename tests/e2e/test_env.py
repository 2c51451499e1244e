# SPDX-License-Identifier: Apache-2.0
"""The helpers themselves: a test that stands on them must be able to believe them."""

import http.server
import os
import pathlib
import subprocess
import sys
import threading

from env import Http, Postgres, Server, alive, children

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_a_cluster_keeps_what_was_committed_when_it_is_killed():
    with Postgres() as postgres:
        postgres.start()
        assert postgres.sql("show fsync") == "on"
        conninfo = postgres.create_database("kept")
        assert f"port={postgres.port}" in conninfo
        postgres.sql("create table t (a int); insert into t values (1), (2)", "kept")

        family = [postgres.pid, *children(postgres.pid)]
        assert len(family) > 3
        postgres.kill9()
        assert not any(alive(pid) for pid in family)

        postgres.start()
        assert postgres.sql("select sum(a), count(*) from t", "kept") == "3|2"
        assert "automatic recovery in progress" in postgres.log.read_text()

        postgres.stop()
        postgres.start()
        assert postgres.sql("select count(*) from t", "kept") == "2"
        pid, folder = postgres.pid, postgres.folder
    assert not alive(pid)
    assert not folder.exists()


def test_each_test_has_a_fresh_database_first(env):
    env.sql("create table mark (a int)")


def test_each_test_has_a_fresh_database_second(env):
    assert env.sql("select to_regclass('mark') is null") == "t"


def test_the_shared_cluster_is_back_after_a_test_killed_it_first(env):
    env.postgres.kill9()


def test_the_shared_cluster_is_back_after_a_test_killed_it_second(env):
    assert env.sql("select 1") == "1"


def test_the_client_sends_and_reads_json():
    class Echo(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(201)
            self.send_header("X-Was", self.headers["Content-Type"])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Echo) as echo:
        thread = threading.Thread(target=echo.serve_forever)
        thread.start()
        try:
            answer = Http(echo.server_address[1]).post("/x", {"a": [1, None]})
        finally:
            echo.shutdown()
            thread.join()
    assert answer.status == 201
    assert answer.headers["x-was"] == "application/json"
    assert answer.json() == {"a": [1, None]}


# Stands in for the program: the flags and the port file are the agreement.
PLAYED_SERVER = """#!{python}
import http.server, sys
flags = dict(zip(sys.argv[2::2], sys.argv[3::2]))
if sys.argv[1] == "token":
    open(flags["--file"], "w").write("token")
if sys.argv[1] != "serve":
    sys.exit(0)
host, port = flags["--listen"].split(":")
assert sys.argv[1] == "serve" and host == "127.0.0.1" and flags["--database"]
class Ok(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()
server = http.server.HTTPServer((host, int(port)), Ok)
open(flags["--port-file"], "w").write(str(server.server_address[1]))
server.serve_forever()
"""


def test_a_server_is_started_measured_and_ended(tmp_path, monkeypatch):
    program = tmp_path / "tidemill-server"
    program.write_text(PLAYED_SERVER.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("TIDEMILL_BIN", str(tmp_path))

    server = Server("dbname=none", tmp_path, "played").start()
    assert server.http.get("/nothing").status == 404
    assert server.rss_bytes() > 1_000_000
    assert server.cpu_seconds() > 0
    assert server.terminate() != 0  # the played one dies of the signal
    first, port = server.pid, server.port
    server.start()
    assert server.pid != first
    assert server.port == port
    server.kill9()
    assert not alive(server.pid)
    assert "GET /nothing" in server.log.read_text()


def test_with_postgres_gives_a_command_a_database_and_its_exit_code():
    script = 'psql -X -A -t -c "select 6 * 7" "$TIDEMILL_TEST_PG" && exit 5'
    tool = [sys.executable, str(ROOT / "tools" / "with_postgres.py")]
    done = subprocess.run(
        [*tool, "--", "sh", "-c", script], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert done.stdout.strip() == "42"
    assert done.returncode == 5
