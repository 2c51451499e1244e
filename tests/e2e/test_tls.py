# SPDX-License-Identifier: Apache-2.0
"""A server that speaks TLS, and clients of all kinds: ours, Python's and curl."""

import json
import signal
import socket
import ssl
import subprocess
import threading

import pytest
from agents import Agent, submit
from env import Http, binaries, tail, wait_until, whole_lines
from load import Load, submit_range, wait_for_end
from tls import Tls

from cli import Cli


@pytest.fixture
def tls(tmp_path):
    return Tls(tmp_path / "tls")


@pytest.fixture
def server(env, tls):
    return env.server(tls=tls)


def serve(env, *flags):
    """A server that is expected to refuse its flags."""
    command = [str(binaries() / "tidemill-server"), "serve", "--database", env.conninfo, *flags]
    return subprocess.run(command, capture_output=True, check=False, text=True, timeout=60)


def events(server, name):
    return [json.loads(line) for line in whole_lines(server.log) if f'"{name}"' in line]


def shown(server):
    """The certificate that a new connection gets to see."""
    return ssl.get_server_certificate(("127.0.0.1", server.port), ca_certs=str(server.tls.ca))


def normal(pem):
    return ssl.DER_cert_to_PEM_cert(ssl.PEM_cert_to_DER_cert(pem))


def test_python_and_curl_are_answered(server, tls):
    assert server.http.get("/healthz").status == 200
    job = submit_range(server.http, 10)
    command = ["curl", "--silent", "--show-error", "--fail", "--cacert", str(tls.ca)]
    command += ["--header", f"Authorization: Bearer {server.token}"]
    done = subprocess.run(
        [*command, f"https://localhost:{server.port}/v1/jobs/{job}"],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["counts"]["total"] == 10
    # A part of some megabytes there and its items back, as large bodies go.
    part = b"\n".join(b"%07d-" % i + b"x" * 60 for i in range(100_000))
    made = server.http.post("/v1/jobs", {"name": "large", "spec": {}}).json()["id"]
    path, kind = f"/v1/jobs/{made}/parts/0", {"Content-Type": "text/plain"}
    assert server.http.request("PUT", path, part, headers=kind).status == 200


def test_old_versions_and_clear_text_are_refused(server):
    for version in ("-tls1", "-tls1_1", "-tls1_2", "-tls1_3"):
        connect = ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", version]
        done = subprocess.run(
            [*connect, "-cipher", "ALL@SECLEVEL=0"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode == 0) == (version in ("-tls1_2", "-tls1_3")), done
    answer = Http(server.port).get("/healthz")
    assert answer.status == 400
    assert "https://" in answer.json()["detail"]


def test_strangers_are_not_believed(server, tmp_path):
    for context, why in (
        (Tls(tmp_path / "other").context(), "unable to get local issuer|self.signed|signature"),
        (ssl.create_default_context(), "unable to get local issuer|self.signed"),
    ):
        with pytest.raises(ssl.SSLCertVerificationError, match=why):
            Http(server.port, tls=context).get("/healthz")
    cli = Cli(tmp_path, server)
    del cli.env["TIDEMILL_CA"]
    said = cli("jobs")
    assert said.code == 5
    assert said.err.startswith(f"the certificate of 127.0.0.1:{server.port} is not trusted: ")
    assert "--ca FILE" in said.err
    assert cli("jobs", *server.ca_flags).code == 0
    said = cli("jobs", "--ca", "/nonexistent/ca.pem")
    assert said.code == 2
    assert said.err == "--ca: cannot read /nonexistent/ca.pem: No such file or directory\n"


def test_everything_of_ours_works_through_it(env, server, tmp_path):
    cli = Cli(tmp_path, server)
    agent = Agent(env.folder, "one", [server]).start()
    job = submit(server.http, {"command": ["true"]}, items=20)
    wait_for_end(server.http, job, 60)
    assert "all 20 items succeeded" in cli("watch", job).out
    assert agent.terminate() == 0
    job = submit_range(server.http, 20_000)
    with Load(tmp_path, [server], "--agents", "50") as load:
        assert wait_for_end(server.http, job, 120)["counts"]["succeeded"] == 20_000
        assert load.stop()["errors"] == 0


def test_clear_text_is_for_this_machine_only(env, tmp_path):
    done = serve(env, "--listen", "0.0.0.0:0")
    assert done.returncode == 2
    assert "--tls-cert FILE --tls-key FILE" in done.stderr
    assert "127.0.0.1" in done.stderr
    said = Cli(tmp_path)("jobs", "--server", "http://batch.example")
    assert said.code == 2
    assert "use https://" in said.err
    agent = ["--state", str(tmp_path), "--join-token-file", "/dev/null"]
    for program, more in (("tidemill-agent", agent), ("tidemill-load", [])):
        command = [str(binaries() / program), "--server", "http://10.0.0.1:1", *more]
        done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=60)
        assert done.returncode == 2
        assert "use https://" in done.stderr, done


def test_files_that_are_wrong_are_named(env, tls):
    cert, key = str(tls.certificate), str(tls.key)
    for flags, why in (
        (["--tls-cert", cert], "--tls-key"),
        (["--tls-cert", "/nonexistent", "--tls-key", key], "cannot read /nonexistent"),
        (["--tls-cert", key, "--tls-key", key], f"{key} holds no certificate"),
        (["--tls-cert", str(tls.ca), "--tls-key", key], "does not belong to the certificate in"),
    ):
        done = serve(env, *flags)
        assert done.returncode == 2, done
        assert why in done.stderr, done


def test_browsers_are_told_to_stay_with_it_unless_it_is_this_machine(env, tls, server):
    assert "strict-transport-security" not in server.http.get("/healthz").headers
    other = env.server(start=False, tls=tls)
    other.address = "0.0.0.0"
    other.start()
    assert other.http.get("/healthz").headers["strict-transport-security"] == "max-age=31536000"


def test_a_new_certificate_is_taken_while_it_serves(env, tls, times):
    times("server.certificate_look=1s")
    server = env.server(tls=tls)
    stop, failures = threading.Event(), []

    def ask():
        while not stop.is_set():
            try:
                assert server.http.get("/healthz").status == 200
            except (OSError, AssertionError) as error:
                failures.append(error)

    asking = [threading.Thread(target=ask) for _ in range(2)]
    for thread in asking:
        thread.start()
    try:
        for _ in range(5):
            made = normal(tls.make())
            server._process.send_signal(signal.SIGHUP)
            wait_until("the new certificate", lambda made=made: shown(server) == made)
        # By itself, at its next look.
        made = normal(tls.make())
        wait_until("the new certificate", lambda: shown(server) == made, 60)
        tls.key.write_text("no key")
        wait_until("the refusal", lambda: events(server, "certificate.refused"), 60)
        assert shown(server) == made
    finally:
        stop.set()
        for thread in asking:
            thread.join()
    assert failures == []
    assert len(events(server, "certificate.reloaded")) >= 6
    assert str(tls.key) in events(server, "certificate.refused")[0]["reason"]


def test_a_thousand_idle_connections_are_cheap(server, tls):
    count, context, idle = 1000, tls.context(), []

    def connect():
        plain = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = context.wrap_socket(plain, server_hostname="127.0.0.1")
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        idle.append(connection)

    try:
        for _ in range(50):  # what every server needs once
            connect()
        before = server.rss_bytes()
        for _ in range(count):
            connect()
        each = (server.rss_bytes() - before) / count
        print(f"\nan idle TLS connection: {each / 1024:.1f} KiB")
        assert each < 40 * 1024
    finally:
        for connection in idle:
            connection.close()


def test_a_handshake_that_does_not_go_on_keeps_nobody_from_stopping(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as half:
        half.sendall(b"\x16\x03\x01\x02\x00\x01")
        assert server.http.get("/healthz").status == 200
        assert server.terminate(60) == 0, tail(server.log)
