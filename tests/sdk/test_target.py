# SPDX-License-Identifier: Apache-2.0
"""The SDK finds the server that the command line finds, and is the same person there."""

import json
import os

import pytest
import tidemill
from cli import Cli
from tidemill.target import Surroundings, find_target
from tls import Tls


@pytest.fixture
def around(tmp_path):
    """Somebody with an empty home; gives what is found with these variables."""

    def find(variables=None, **told):
        known = {"HOME": str(tmp_path), **(variables or {})}
        return find_target(Surroundings(known, False, tmp_path / "machine"), **told)

    return find


def write_contexts(tmp_path, current, *contexts, mode=0o600):
    folder = tmp_path / ".config" / "tidemill"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "contexts.json"
    path.write_text(json.dumps({"current": current, "contexts": contexts}))
    path.chmod(mode)
    return path


def context(name, server, **more):
    return {"name": name, "server": server, "token": f"token of {name}", **more}


ONE = context("one", "https://one.example", project="films", ca="PEM")
TWO = context("two", "https://two.example:8443")


def test_the_order_is_arguments_then_variables_then_the_current_context(around, tmp_path):
    write_contexts(tmp_path, "one", ONE, TWO)
    found = around()
    assert (found.url, found.token) == ("https://one.example", "token of one")
    assert (found.project, found.ca_pem) == ("films", "PEM")
    assert around({"TIDEMILL_CONTEXT": "two"}).url == "https://two.example:8443"
    assert around({"TIDEMILL_CONTEXT": "two"}, context="one").url == "https://one.example"
    assert around({"TIDEMILL_PROJECT": "books"}).project == "books"
    with pytest.raises(tidemill.Invalid, match="both set; unset one"):
        around({"TIDEMILL_CONTEXT": "two", "TIDEMILL_SERVER": "http://x"})
    with pytest.raises(tidemill.NotFound, match="no context 'tow'; there are one, two"):
        around(context="tow")


def test_a_token_goes_to_its_own_server_only(around, tmp_path):
    write_contexts(tmp_path, "one", ONE, TWO)
    assert around({"TIDEMILL_TOKEN": "mine"}).token == "token of one"
    assert around({"TIDEMILL_TOKEN": "mine"}, server="https://one.example").token == "mine"
    assert around(server="https://TWO.example:8443/").token == "token of two"
    assert around(server="https://two.example").token == "", "another port is another server"
    write_contexts(tmp_path, "", ONE, context("three", "https://one.example:443"))
    with pytest.raises(tidemill.Invalid, match="one, three; say which"):
        around(server="https://one.example")


def test_a_file_that_others_can_read_is_not_used(around, tmp_path):
    path = write_contexts(tmp_path, "one", ONE, mode=0o644)
    with pytest.raises(tidemill.NotAllowed, match=f"chmod 600 {path}"):
        around()
    path.chmod(0o600)
    path.write_text("{")
    with pytest.raises(tidemill.Invalid, match="is broken"):
        around()


def test_one_that_runs_here_is_found_until_it_ends(around, tmp_path):
    with pytest.raises(tidemill.Unavailable, match="tidemill login URL"):
        around()
    folder = tmp_path / ".local/share/tidemill"
    folder.mkdir(parents=True)
    (folder / "token").write_text("of up\n")
    up = {"server": "https://127.0.0.1:7", "pid": os.getpid(), "ca": "/ca.pem"}
    up["token_file"] = str(folder / "token")
    (folder / "up.json").write_text(json.dumps(up))
    found = around()
    assert (found.url, found.token, found.ca_file) == ("https://127.0.0.1:7", "of up", "/ca.pem")
    (folder / "up.json").write_text(json.dumps({**up, "pid": 2**22 + 1}))
    with pytest.raises(tidemill.Unavailable):
        around()


def test_who_has_signed_in_with_the_command_line_is_signed_in(env, tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("TIDEMILL_", "XDG_"))]:
        if name != "TIDEMILL_BIN":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    server = env.server(tls=Tls(tmp_path / "tls"))
    cli = Cli(tmp_path)
    cli.env.pop("XDG_DATA_HOME")
    words = ["login", server.url, "--token-file", str(server.token_file), *server.ca_flags]
    said = cli(*words)
    assert said.code == 0, said
    job = tidemill.submit({"name": "signed-in", "command": ["true"]})
    assert cli("jobs", "-q").out == f"{job.id}\n"
    # A server whose certificate is not trusted gets nothing.
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    with pytest.raises(tidemill.NotAllowed, match="is not trusted"):
        tidemill.Client(server.url).get("/v1/whoami")
