# SPDX-License-Identifier: Apache-2.0
"""Who somebody is, and what they may do, as they type it."""

import hashlib
import json
import re
import ssl
import uuid

import pytest
from agents import Agent, submit
from env import wait_until
from projects import new_project
from tls import Tls

from cli import PLAIN, Cli
from load import wait_for_end


@pytest.fixture(scope="module")
def server(module_env):
    return module_env.server()


@pytest.fixture
def home(tmp_path):
    """Somebody who has signed in to nothing."""
    return Cli(tmp_path)


@pytest.fixture
def admin(server, home):
    """Somebody who has signed in with the token of an admin for all projects."""
    return sign_in(home, server)


def sign_in(home, server, *words):
    token = ["--token-file", str(server.token_file)]
    said = home("login", server.url, "--name", "main", *token, *words)
    assert said.code == 0, said
    return home


def good(said):
    assert said.code == 0, said
    return said.out


def one_line(text):
    return " ".join(text.split())


def contexts_file(cli):
    return cli.folder / ".config/tidemill/contexts.json"


def make_token(cli, *words):
    token = good(cli("token", "create", *words, "-q")).strip()
    assert re.fullmatch(r"tidemill_\w+", token), token
    return token


# --- signing in ---


def test_a_token_from_a_file_or_standard_input_signs_in(server, home):
    assert home("jobs").code == 5  # nobody knows which server
    said = home("login", server.url, "--token-file", str(server.token_file))
    name = f"127.0.0.1:{server.port}"
    assert one_line(good(said)) == (
        f"Signed in to {server.url} as 'test' (admin in all projects); "
        f"context '{name}' is now the current one."
    )
    assert contexts_file(home).stat().st_mode & 0o777 == 0o600
    assert contexts_file(home).parent.stat().st_mode & 0o777 == 0o700
    good(home("jobs"))

    # Once more takes the place of the first, also with the spaces that people paste.
    said = home("login", server.url + "/", "--json", stdin=f"  {server.token}\r\n")
    assert said.code == 0, said
    assert said.json()["context"]["name"] == name
    assert said.json()["caller"]["role"] == "admin"
    assert server.token not in said.out
    assert [c["name"] for c in home("context", "list", "--json").json()["contexts"]] == [name]

    whoami = good(home("whoami"))
    assert whoami.startswith(f"'test': admin in all projects\nat {server.url}, context '{name}'\n")
    assert home("whoami", "--json").json()["project"] == "*"
    assert good(home("whoami", "-q")) == "test\n"


def test_a_terminal_asks_for_the_token_and_does_not_show_it(server, home):
    said = home.on_terminal(100, "login", server.url, typed=[server.token + "\n"])
    assert said.code == 0, said
    assert said.out.startswith(f"Token for {server.url} (it is not shown): ")
    assert server.token not in said.out and server.token[-8:] not in said.out
    assert "Signed in to " in said.out
    assert home("whoami").code == 0

    said = home.on_terminal(100, "login", server.url, "--name", "other", typed=["\x03"])
    assert said.code == 130, said
    assert good(home("context", "list", "-q")).count("\n") == 1


@pytest.mark.parametrize(
    "given, code, error",
    [
        ("", 2, "no token was given"),
        ("hello", 2, "this is not a whole token: they begin with 'tidemill_'"),
        ("join", 2, "this is a machine's token"),
        ("unknown", 4, "this token is not good at "),
    ],
)
def test_nothing_is_kept_of_a_token_that_is_not_good(server, home, given, code, error):
    other = server.token[:-8] + ("0" * 8 if not server.token.endswith("0" * 8) else "1" * 8)
    token = {"join": server.join_token, "unknown": other}.get(given, given)
    said = home("login", server.url, stdin=token)
    assert said.code == code, said
    assert error in said.err
    assert not token or token not in said.err
    assert not contexts_file(home).exists()


def test_wrong_use_of_login_is_told(server, home, tmp_path):
    token = ["--token-file", str(server.token_file)]
    assert home("login", "batch.example", *token).code == 2
    said = home("login", "http://batch.example", *token)
    assert said.code == 2 and "would be read by all on the way" in said.err, said
    assert home("login", server.url, "--name", "a b", *token).code == 2
    assert home("login", server.url, "--token-file", str(tmp_path / "none")).code == 2
    assert home("login", server.url, "--project", "none", *token).code == 3
    assert home("login", "http://127.0.0.1:1", *token).code == 5
    assert home("login", server.url, server.token).code == 2  # no argument
    assert home("logout").code == 3
    assert home("context", "use", "none").code == 3
    assert not contexts_file(home).exists()


def test_a_certificate_that_is_not_trusted_is_shown(module_env, home, tmp_path):
    tls = Tls(tmp_path / "tls")
    server = module_env.server(tls=tls)
    token = ["--token-file", str(server.token_file)]
    said = home("login", server.url, *token)
    assert said.code == 5, said
    shown = ssl.PEM_cert_to_DER_cert(tls.certificate.read_text())
    digest = hashlib.sha256(shown).hexdigest().upper()
    fingerprint = ":".join(digest[i : i + 2] for i in range(0, 64, 2))
    assert f"Its SHA-256 fingerprint is\n{fingerprint}\n" in said.err, said
    assert "\nIf it is yours, give its CA with --ca FILE\n" in said.err
    assert all(len(line) <= 100 for line in said.err.splitlines())
    assert not contexts_file(home).exists()

    good(home("login", server.url, "--ca", str(tls.ca), *token))
    tls.ca.unlink()  # it is kept inside
    good(home("jobs"))
    assert home("login", server.url, "--ca", str(tls.key), *token).code == 2


def test_contexts_of_two_servers_are_kept_apart(module_env, server, home, tmp_path):
    tls = Tls(tmp_path / "tls")
    other = module_env.server(tls=tls)
    first = make_token_over_http(server, "ann", "viewer")
    second = make_token_over_http(server, "bob", "submitter")
    good(home("login", server.url, "--name", "a", stdin=first))
    good(home("login", other.url, "--name", "b", "--ca", str(tls.ca), stdin=second))
    assert good(home("context", "list")).splitlines()[1:] == [
        f"   a        {server.url}   -",
        f"*  b        {other.url}  -",
    ]
    assert good(home("whoami", "-q")) == "bob\n"
    assert good(home("whoami", "-q", "--context", "a")) == "ann\n"
    assert good(home("whoami", "-q", TIDEMILL_CONTEXT="a")) == "ann\n"
    assert good(home("whoami", "-q", "--server", server.url)) == "ann\n"
    assert (
        good(home("context", "use", "a")) == f"Context 'a' ({server.url}) is now the current one.\n"
    )
    assert good(home("whoami", "-q")) == "ann\n"
    assert home("login", other.url, "--name", "a", "--ca", str(tls.ca), stdin=second).code == 1
    said = home("context", "use", "c")
    assert said.code == 3 and "no context 'c'" in said.err, said
    assert home("jobs", "--context", "a", "--server", server.url).code == 2

    # A server that is none of them gets no token of theirs.
    said = home("whoami", "--server", f"http://localhost:{server.port}")
    assert said.code == 4 and "needs a token" in said.err, said

    gone = good(home("logout"))
    assert gone.startswith("Context 'a' is forgotten, and no other is the current one.\n"), gone
    assert re.search(r"an admin can revoke it:  tidemill token revoke [0-9a-f]{8}\n", gone), gone
    assert first not in contexts_file(home).read_text()
    assert good(home("context", "rm", "b")).startswith("Context 'b' is forgotten")
    assert good(home("context", "list")).startswith("no context yet.")


def make_token_over_http(server, name, role):
    answer = server.http.post("/v1/tokens", {"name": name, "role": role})
    assert answer.status == 201, answer.body
    return answer.json()["secret"]


def test_contexts_that_others_can_read_are_not_used(admin):
    contexts_file(admin).chmod(0o644)
    for command in (["jobs"], ["context", "list"], ["logout"]):
        said = admin(*command)
        assert said.code == 4, said
        assert f"chmod 600 {contexts_file(admin)}" in said.err
    contexts_file(admin).chmod(0o600)
    good(admin("jobs"))


# --- tokens ---


def test_tokens_are_made_listed_and_revoked(admin, server, tmp_path):
    made = good(admin("token", "create", "--name", "ann", "--role", "submitter", "--days", "30"))
    lines = made.splitlines()
    good_for = r"Token ([0-9a-f]{8}) for 'ann': submitter in project default, good"
    short = re.match(good_for, lines[0])[1]
    assert lines[2] == "Keep it: it is shown only now.", made
    token = lines[1]
    said = admin("token", "create", "--join", "lab")
    assert said.code == 3 and "tidemill pool set lab --default\n" in said.err, said
    good(admin("pool", "set", "lab", "--default"))
    join = make_token(admin, "--join", "lab", "--uses", "2", "--minutes", "5")
    assert join.startswith("tidemill_join_")
    as_json = admin("token", "create", "--name", "x", "--role", "viewer", "--json").json()
    assert set(as_json) == {"token", "secret"}

    listed = good(admin("token", "list"))
    assert all(len(line) <= 100 for line in listed.splitlines())
    row = rf"^{short}  ann +submitter +default +test +\S+.* in 30 d +never +good$"
    assert re.search(row, listed, re.MULTILINE), listed
    assert re.search(r"  pool lab +joins lab +default ", listed), listed
    assert token not in listed and join not in listed
    assert {t["name"] for t in admin("token", "list", "--json").json()["tokens"]} >= {"ann", "x"}

    ann = Cli(tmp_path / "ann")
    ann.folder.mkdir()
    good(ann("login", server.url, stdin=token))
    assert good(ann("whoami")).startswith("'ann': submitter in project default\n")
    said = ann("token", "list")
    assert (
        said.code == 4 and "this needs the role admin; your token 'ann' has submitter" in said.err
    )
    assert ann("secret", "set", "x", stdin="value").code == 4

    assert good(admin("token", "revoke", short)).startswith(f"Token {short} of 'ann' is revoked")
    said = ann("jobs")
    assert said.code == 4, said
    assert f"Sign in:  tidemill login {server.url}\n" in said.err
    assert re.search(rf"^{short}  ann .* revoked$", good(admin("token", "list")), re.MULTILINE)


def test_wrong_use_of_token_makes_and_revokes_none(admin):
    kept = admin("token", "create", "--name", "kept", "--role", "viewer", "--json").json()["token"]
    before = good(admin("token", "list", "-q"))
    for words in (
        [],
        ["--name", "a"],
        ["--role", "viewer"],
        ["--name", "a", "--role", "king"],
        ["--name", "a", "--role", "viewer", "--minutes", "3"],
        ["--name", "a", "--role", "viewer", "--days", "0"],
        ["--join", "gpu", "--days", "3"],
        ["--join", "gpu", "--role", "viewer"],
        ["--join", "gpu", "--project", "*"],
    ):
        said = admin("token", "create", *words)
        assert said.code == 2 and said.err + said.out, (words, said)
    assert good(admin("token", "list", "-q")) == before
    assert admin("token", "revoke", kept["id"], "00000000").code == 3
    assert admin("token", "revoke").code == 2
    said = admin("token", "revoke", str(uuid.UUID(int=1)))
    assert said.code == 3 and "tidemill token list shows them" in said.err, said
    # Not even the first of the two was revoked.
    listed = admin("token", "list", "--json").json()["tokens"]
    assert [each for each in listed if each["id"] == kept["id"]] == [kept]


def test_a_token_of_one_project_sees_no_other(admin, server, tmp_path):
    said = admin("token", "create", "--name", "a", "--role", "viewer", "--project", "films")
    assert said.code == 3 and "tidemill project set" in said.err, said
    good(admin("project", "set", "films"))
    token = make_token(admin, "--name", "ann", "--role", "operator", "--project", "films")
    root = make_token(admin, "--name", "root", "--role", "admin", "--project", "*")
    (admin.folder / "plain.yaml").write_text(PLAIN)
    good(admin("submit", "plain.yaml"))
    ann = Cli(tmp_path / "ann")
    ann.folder.mkdir()
    good(ann("login", server.url, stdin=token))
    assert "no job" in good(ann("jobs"))
    assert ann("jobs", "--project", "default").code == 3
    good(ann("secret", "set", "key", stdin="value"))
    assert "key" not in good(admin("secret", "list", "-q")).splitlines()
    assert good(admin("secret", "list", "-q", "--project", "films")) == "key\n"
    assert good(admin("secret", "list", "-q", TIDEMILL_PROJECT="films")) == "key\n"
    good(ann("login", server.url, "--name", "all", "--project", "films", stdin=root))
    assert good(ann("secret", "list", "-q")) == "key\n"
    assert "here in films" not in good(ann("whoami")) and "project films" in good(ann("whoami"))


# --- secrets ---


def test_secrets_come_as_they_were_given_in_each_way(home, env, tmp_path):
    server = env.server(*env.objects_flags)
    admin = sign_in(home, server)
    (tmp_path / "key").write_bytes(b"from-a-file\n")
    said = admin("secret", "set", "A", "--from-file", "key")
    assert good(said) == ("Secret A is set. Items get it if their spec says:  secrets: [A]\n")
    good(admin("secret", "set", "B", stdin="from-standard-input\n\n"))
    typed = "typed-unseen"
    said = admin.on_terminal(100, "secret", "set", "C", typed=[typed + "\n", typed + "\n"])
    assert said.code == 0 and typed not in said.out, said
    listed = good(admin("secret", "list"))
    assert [line.split()[0] for line in listed.splitlines()] == ["SECRET", "A", "B", "C"]
    assert [s["name"] for s in admin("secret", "list", "--json").json()["secrets"]] == [*"ABC"]

    script = 'for v in "$A" "$B" "$C"; do printf %s "$v" | sha256sum; done'
    spec = {
        "command": ["sh", "-c", script],
        "secrets": ["A", "B", "C"],
        "resources": {"cpus": 1, "memory": "64MiB"},
    }
    agent = Agent(env.folder, "machine", [server]).start()
    try:
        job = submit(server.http, spec)
        wait_for_end(server.http, job, 60)
        log = wait_until("its log", lambda: admin("logs", job, "--item", "0").out)
    finally:
        agent.terminate()
    values = [b"from-a-file\n", b"from-standard-input\n", typed.encode()]
    assert [line.split()[0] for line in log.splitlines()] == [
        hashlib.sha256(value).hexdigest() for value in values
    ]

    assert good(admin("secret", "rm", "A")).startswith("Secret A is removed")
    said = admin("secret", "rm", "A")
    assert (said.code, said.err) == (3, "no secret 'A'; tidemill secret list shows them\n")


def test_wrong_values_of_secrets_change_nothing(home, server, tmp_path):
    admin = sign_in(home, server, "--project", new_project(server))
    assert good(admin("secret", "list")).startswith("no secrets.")
    good(admin("secret", "set", "big", stdin="x" * 32768 + "\n"))
    said = admin("secret", "set", "S", stdin="x" * 32769)
    assert said.code == 2 and "more than 32768 bytes" in said.err, said
    (tmp_path / "large").write_bytes(b"x" * 32769)
    assert admin("secret", "set", "S", "--from-file", "large").code == 2
    assert admin("secret", "set", "S", "--from-file", "none").code == 2
    assert "secret rm S" in admin("secret", "set", "S", stdin="\n").err
    assert admin("secret", "set", "a/b", stdin="x").code == 2
    assert admin("secret", "set", "S", "value").code == 2  # no argument
    said = admin.on_terminal(100, "secret", "set", "S", typed=["one\n", "two\n"])
    assert said.code == 2 and "not the same; nothing was changed" in said.out, said
    said = admin.on_terminal(100, "secret", "set", "S", typed=["one\n", "\x03"])
    assert said.code == 130, said
    assert good(admin("secret", "list", "-q")) == "big\n"


# --- what admins set and read ---


def test_pools_projects_and_the_audit(admin, server):
    said = good(admin("pool", "set", "gpu", "--no-network", "--firewall"))
    assert said.startswith("Pool gpu demands of its containers: no network, firewall\n")
    assert re.search(r"^gpu +no network, firewall +-$", good(admin("pool", "list")), re.MULTILINE)
    pools = {p["name"]: p["policy"] for p in admin("pool", "list", "--json").json()["pools"]}
    assert pools["gpu"]["no_network"] and not pools["gpu"]["read_only_root"]
    said = good(admin("pool", "set", "gpu", "--default"))
    assert "nothing beyond the defaults" in said
    for words in (["gpu"], ["gpu", "--default", "--firewall"], ["a/b", "--default"], []):
        assert admin("pool", "set", *words).code == 2, words

    good(admin("project", "set", "vision", "--items", "5000", "--log-bytes", "50MiB"))
    said = good(admin("project", "set", "vision", "--calls-per-second", "7"))
    assert one_line(said) == (
        "Project vision may have: 7 calls a second, 5,000 items in jobs that are not over, "
        "50 MiB of log an attempt"
    )
    listed = good(admin("project", "list"))
    assert re.search(r"^vision +7 +5,000 +50 MiB  ", listed, re.MULTILINE), listed
    projects = admin("project", "list", "--json").json()["projects"]
    assert {p["name"]: p["limits"]["items"] for p in projects}["vision"] == 5000
    assert admin("project", "set", "vision", "--log-bytes", "many").code == 2
    assert admin("project", "set", "vision", "--items", "-1").code == 2
    assert admin("project", "set", "a b").code == 2

    viewer = make_token(admin, "--name", "eve", "--role", "viewer")
    assert admin("pool", "set", "gpu", "--default", TIDEMILL_TOKEN=viewer).code == 0  # not used
    named = {"TIDEMILL_TOKEN": viewer, "TIDEMILL_SERVER": server.url}
    said = admin("pool", "set", "gpu", "--default", **named)
    assert said.code == 4 and "needs the role admin" in said.err, said
    audit = good(admin("audit", "--limit", "2"))
    assert all(len(line) <= 100 for line in audit.splitlines())
    assert re.fullmatch(
        r"WHEN   WHO   FROM       ALLOWED  WHAT                  ON\n"
        r"\d\d:\d\d  eve   127.0.0.1  no       PUT /v1/pools/{pool}  gpu\n"
        r"\d\d:\d\d  test  127.0.0.1  yes      PUT /v1/pools/{pool}  gpu\n",
        audit,
    ), audit
    rows = admin("audit", "--json").json()["audit"]
    assert [row["allowed"] for row in rows][:2] == [False, True]
    assert admin("audit", "--limit", "0").code == 2
    assert json.loads(admin("project", "set", "vision", "--json").out)["name"] == "vision"
