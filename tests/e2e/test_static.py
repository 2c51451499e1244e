# SPDX-License-Identifier: Apache-2.0
"""The programs that people install run in a root folder that holds nothing else."""

import json
import os
import shutil
import subprocess

import pytest
from agents import Agent
from env import Postgres, Program, binaries, wait_until
from tls import Tls

PROGRAMS = ("tidemill", "tidemill-server", "tidemill-agent", "tidemill-init", "tidemill-runtime")


@pytest.fixture
def empty_root(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    for program in PROGRAMS:
        shutil.copy(binaries() / program, root / program)
    return root


def run(root, *command, token=""):
    def enter():
        os.chroot(root)
        os.chdir("/")

    return subprocess.run(
        [f"/{command[0]}", *command[1:]],
        preexec_fn=enter,
        env={"TIDEMILL_TOKEN": token} if token else {},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )


def test_they_need_no_library_and_no_file(empty_root):
    for program in ("tidemill", "tidemill-server", "tidemill-agent"):
        done = run(empty_root, program, "--version")
        assert done.returncode == 0 and "0.1" in done.stdout, done.stdout
    done = run(empty_root, "tidemill-runtime", "--help")
    assert done.returncode == 0 and "tidemill-runtime 0.1" in done.stdout, done.stdout
    # It is the runtime's below, of which there is none.
    done = run(empty_root, "tidemill-runtime", "--version")
    assert done.returncode == 1 and "no runtime to hand over to" in done.stdout, done.stdout
    # It has nothing to say without an agent.
    assert run(empty_root, "tidemill-init").returncode == 2


def test_the_command_line_works_there(env, empty_root):
    server = env.server()
    url = f"http://127.0.0.1:{server.port}"
    (empty_root / "job.yaml").write_text("name: there\ncommand: [echo, '{item}']\n")
    done = run(
        empty_root,
        "tidemill",
        "submit",
        "/job.yaml",
        "--server",
        url,
        "--range",
        "3",
        "-q",
        token=server.token,
    )
    assert done.returncode == 0, done.stdout
    job = done.stdout.strip()
    done = run(empty_root, "tidemill", "show", job, "--server", url, "--json", token=server.token)
    assert json.loads(done.stdout)["counts"]["waiting"] == 3, done.stdout


def test_the_command_line_speaks_tls_there(env, empty_root, tmp_path):
    tls = Tls(tmp_path / "tls")
    server = env.server(tls=tls)
    words = ["tidemill", "jobs", "--server", server.url]
    done = run(empty_root, *words)
    assert done.returncode == 5
    assert "is not trusted" in done.stdout, done.stdout
    shutil.copy(tls.ca, empty_root / "ca.pem")
    done = run(empty_root, *words, "--ca", "/ca.pem", token=server.token)
    assert done.returncode == 0, done.stdout
    # Where some Linux keeps whom it believes.
    (empty_root / "etc/pki/tls/certs").mkdir(parents=True)
    shutil.copy(tls.ca, empty_root / "etc/pki/tls/certs/ca-bundle.crt")
    done = run(empty_root, *words, token=server.token)
    assert done.returncode == 0, done.stdout


def test_the_agent_works_there(env, empty_root):
    server = env.server()
    agent = Agent(env.folder, "there", [server])
    # Where it finds it from inside.
    inside = empty_root / server.join_file.relative_to("/")
    inside.parent.mkdir(parents=True)
    shutil.copy(server.join_file, inside)
    agent.run_in(empty_root, "/tidemill-agent", "/state")
    agent.start()
    machines = server.http.get("/v1/machines").json()["machines"]
    assert [machine["machine"] for machine in machines] == ["there"]
    assert agent.terminate() == 0


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """A PostgreSQL that speaks TLS as `database.test`, and what vouches for it."""
    tls = Tls(tmp_path_factory.mktemp("database") / "tls")
    tls.make(["DNS:database.test"])
    with Postgres() as cluster:
        for source, name in ((tls.certificate, "server.crt"), (tls.key, "server.key")):
            shutil.copy(source, cluster.data / name)
            os.chown(cluster.data / name, cluster.data.stat().st_uid, -1)
            (cluster.data / name).chmod(0o600)
        cluster._settings["ssl"] = "on"
        hba = cluster.data / "pg_hba.conf"
        hba.write_text("host all kerberos all gss include_realm=0\n" + hba.read_text())
        yield cluster.start(), tls.ca


def test_the_server_reaches_its_database_from_there(database, empty_root):
    cluster, ca = database
    (empty_root / "etc").mkdir()
    (empty_root / "etc/hosts").write_text("127.0.0.1 database.test\n")
    # A library that is not there: a program that followed this would find nobody.
    (empty_root / "etc/nsswitch.conf").write_text("hosts: elsewhere\npasswd: elsewhere\n")
    shutil.copy(ca, empty_root / "ca.pem")
    conninfo = f"host=database.test port={cluster.port} user=tidemill dbname=postgres"
    where = ("--database", f"{conninfo} sslmode=verify-full sslrootcert=/ca.pem")
    words = ("--file", "/token", "--name", "me", "--role", "admin", "--project", "*")
    done = run(empty_root, "tidemill-server", "token", *where, *words)
    assert done.returncode == 0, done.stdout
    server = Program(empty_root.parent, "server")
    serve = ["/tidemill-server", "serve", *where, "--listen", "127.0.0.1:0", "--port-file", "/port"]
    server._spawn(["chroot", str(empty_root), *serve])
    try:
        port = empty_root / "port"
        wait_until("the server's port", lambda: port.exists() and port.read_text().strip())
        encrypted = "select bool_and(ssl) from pg_stat_ssl where pid <> pg_backend_pid()"
        # Empty: it has no connection at this moment.
        assert wait_until("its connections", lambda: cluster.sql(encrypted)) == "t"
        url = f"http://127.0.0.1:{port.read_text().strip()}"
        token = (empty_root / "token").read_text().strip()
        done = run(empty_root, "tidemill", "jobs", "--server", url, "--json", token=token)
        assert done.returncode == 0, done.stdout
        assert server.terminate() == 0
    finally:
        server.kill9()


def test_a_database_that_wants_kerberos_is_told_of(database, empty_root):
    cluster, _ = database
    cluster.sql("create role kerberos login")
    conninfo = cluster.conninfo.replace("user=tidemill", "user=kerberos")
    done = run(empty_root, "tidemill-server", "migrate", "--database", conninfo)
    assert done.returncode == 5
    assert "this program has no Kerberos" in done.stdout, done.stdout
