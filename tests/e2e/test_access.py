# SPDX-License-Identifier: Apache-2.0
"""Who may do what: the whole table, and what becomes of tokens, cookies, limits and the audit."""

import base64
import collections
import re
import subprocess
import time
import uuid
from typing import Any, Dict, List, Tuple

import pytest
from access_table import (
    NOWHERE,
    OTHER,
    OWN,
    Cell,
    Connection,
    World,
    cells,
    is_recorded,
    operation_of,
    right_answer,
)
from api_client import CONTRACT, NO_JOIN_TOKEN, NO_TOKEN, Agent, Client, bearer
from env import Answer, Env, Http, wait_until
from tls import Tls

PAGE = {"Tidemill-Request": "1"}


@pytest.fixture
def client(env: Env) -> Client:
    return Client(env.server("--session-seconds", "3600", *env.objects_flags))


def success_of(operation: str) -> List[int]:
    # What becomes a stream, and is not asked to, has got as far as it can.
    good = [status for status in operation_of(operation)[2]["responses"] if status < "300"]
    return [426 if status == "101" else int(status) for status in good]


# Names that an answer about something that is not there may say again.
REPLACED = ("job", "session", "machine", "secret", "token", "pool", "queue", "spec")


class Table:
    """Asks each cell, and keeps what the audit must have and what others' things look like."""

    def __init__(self, world: World) -> None:
        self.world, self.server = world, world.client.server
        self.recorded: collections.Counter = collections.Counter()
        self.absent: Dict[Tuple[Any, ...], Dict[Tuple[str, ...], Any]] = {}
        self.wrong: List[str] = []
        self.count, self._addresses = 0, 0
        self._lines = {"127.0.0.1": Connection(self.server, "127.0.0.1")}

    def _ask(self, cell: Cell) -> Answer:
        request = self.world.request(cell)
        if cell.caller.kind == "person":
            return self._lines["127.0.0.1"].call(*request)
        # Each from an address of its own: wrong tokens from one address are slowed down.
        self._addresses += 1
        line = Connection(self.server, f"127.1.{self._addresses // 250}.{self._addresses % 250}")
        try:
            return line.call(*request)
        finally:
            line.close()

    def ask(self, cell: Cell) -> None:
        wanted = right_answer(cell)
        if cell.operation == "dropSecret" and wanted == 0:
            self.world.put_secret(cell.thing[0], f"dropSecret-{cell.thing[0]}")
        method, path, _ = operation_of(cell.operation)
        if cell.operation.startswith("drop") and wanted == 0:
            self.world.make_setting(path, cell.operation, cell.thing[0])
        answer = self._ask(cell)
        target = self.world.request(cell)[1]
        CONTRACT.check(method, target, answer)
        good = answer.status in success_of(cell.operation) if wanted == 0 else None
        if not (good if wanted == 0 else answer.status == wanted):
            what = f"{cell.operation} by {cell.caller.name} in {cell.header} of {cell.thing}"
            self.wrong.append(f"{what}: {answer.status}, not {wanted or 'a success'}")
        self.count += 1
        given = answer.body.decode(errors="replace") + answer.headers.get("set-cookie", "")
        self.world.secrets += re.findall(r"tidemill_[a-z_]*[0-9a-f]{64}", given)
        self._remember(cell, answer, wanted, target)

    def _remember(self, cell: Cell, answer: Answer, wanted: int, target: str) -> None:
        method, path, _ = operation_of(cell.operation)
        if is_recorded(cell):
            project = cell.caller.project or cell.header or "default"
            row = (cell.caller.name, cell.caller.token, "127.0.0.1", f"{method} {path}", project)
            self.recorded[(*row, self.world.audit_target(cell), wanted != 403)] += 1
        # That its own job has no role, or that nobody waits for a stream, is told plainly.
        of_agents = ("fetchRole", "carryStream", "refuseStream")
        told = cell.operation in of_agents and wanted == 404
        if wanted < 400 or not cell.thing or told:
            return
        body = answer.body.decode()
        for field, name in self.world.names(cell, path).items():
            if "{" + field + "}" in path and field in REPLACED:
                # A job's number may be a part of another number.
                body = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "NAME", body)
        headers = {k: v for k, v in answer.headers.items() if k not in ("date", "content-length")}
        key = (cell.operation, cell.caller.name, cell.header)
        self.absent.setdefault(key, {})[cell.thing] = (answer.status, headers, body)


def audit_rows(client: Client) -> List[Dict[str, Any]]:
    """All of them, the newest first, as an admin for all projects reads them."""
    rows: List[Dict[str, Any]] = []
    page = client.ok("GET", "/v1/audit?limit=1000")
    rows += page["audit"]
    while "next" in page:
        page = client.ok("GET", f"/v1/audit?limit=1000&before={page['next']}")
        rows += page["audit"]
    return rows


def forms_of(secret: str) -> List[bytes]:
    """The ways in which a secret could be written somewhere."""
    plain = [secret.encode()]
    digits = re.search(r"[0-9a-f]{64}$", secret)
    if digits:  # as text, and as the bytes that a dump shows in hexadecimal
        plain += [digits[0].encode(), bytes.fromhex(digits[0])]
    forms = list(plain)
    for each in plain:
        forms.append(each.hex().encode())
        # Wherever it begins in a longer text; its ends depend on what stands beside it.
        for shift in range(3):
            forms.append(base64.b64encode(b"x" * shift + each)[4:-4])
    return [form for form in forms if len(form) >= 8]


def assert_kept_nowhere(env: Env, secrets: List[str]) -> None:
    dump = subprocess.run(
        [str(env.postgres.bin / "pg_dump"), env.conninfo], check=True, stdout=subprocess.PIPE
    ).stdout
    assert b"CREATE TABLE public.token" in dump and len(secrets) > 20
    logs = b"".join(server.log.read_bytes() for server in env.servers)
    for secret in secrets:
        for form in forms_of(secret):
            assert form not in dump and form not in logs, secret


def test_everybody_may_do_what_the_table_says_and_nothing_else(env, client):
    world = World(client)
    table = Table(world)
    begin = time.monotonic()
    for cell in cells(world.callers):
        table.ask(cell)
    took = time.monotonic() - begin
    print(f"\n{table.count} cells in {took:.1f} s, {sum(table.recorded.values())} in the audit")
    assert table.wrong == [], f"{len(table.wrong)} wrong:\n" + "\n".join(table.wrong[:40])
    assert table.count > 900

    # Whatever is another's looks as if it were not there.
    compared = 0
    for key, answers in table.absent.items():
        for thing, answer in answers.items():
            nothing = (*thing[:-1], NOWHERE)
            if answer[0] in (403, 404) and nothing in answers and thing != nothing:
                assert answer == answers[nothing], key
                compared += 1
    print(f"{compared} answers about others' things are those about nothing")
    assert compared > 300

    # One row for each write that was let in or refused for its role, and no other.
    rows = audit_rows(client)
    ours = {caller.name for caller in world.callers if caller.kind == "person"}
    fields = ("who", "token", "address", "action", "project", "target", "allowed")
    found = collections.Counter(
        tuple(row[field] for field in fields)
        for row in rows
        if row["who"] in ours and row["action"] != "POST /v1/login"
    )
    assert found == table.recorded
    logins = [row for row in rows if row["action"] == "POST /v1/login"]
    assert len(logins) == sum(1 for cell in cells(world.callers) if cell.operation == "login")
    assert {row["action"] for row in rows if row["token"] == world.agents[OWN].session} == {
        "POST /v1/agents/join",
        "GET /v1/agents/{session}/jobs/{job}/secrets",
    }
    admin = next(each for each in world.callers if each.name == f"admin of {OWN}")
    seen = client.ok("GET", "/v1/audit?limit=1000", headers=bearer(admin.secret))["audit"]
    assert [row["id"] for row in seen] == [row["id"] for row in rows if row["project"] == OWN][
        :1000
    ]

    world.secrets += ["correcthorsebattery", client.server.token, client.server.join_token]
    print(f"{len(set(world.secrets))} secrets are kept nowhere")
    assert len(set(world.secrets)) > 100
    assert_kept_nowhere(env, world.secrets)


def test_a_revoked_token_is_nobodys_at_once_on_every_server(env):
    first, second = Client(env.server()), Client(env.server())
    for by, other in ((first, second), (second, first)):
        made = by.ok("POST", "/v1/tokens", {"name": "t", "role": "viewer"})
        token = bearer(made["secret"])
        for client in (by, other):
            assert client.call("GET", "/v1/jobs", headers=token).status == 200
        by.ok("DELETE", f"/v1/tokens/{made['token']['id']}")
        for client in (other, by):
            assert client.call("GET", "/v1/jobs", headers=token).status == 401


def test_a_token_expires_and_shows_when_it_was_used(env, client):
    made = client.ok("POST", "/v1/tokens", {"name": "t", "role": "viewer", "life_seconds": 3600})
    token, began = bearer(made["secret"]), time.time() * 1000
    assert "used_ms" not in made["token"]
    assert client.call("GET", "/v1/whoami", headers=token).status == 200
    shown = [each for each in client.ok("GET", "/v1/tokens")["tokens"] if each["name"] == "t"]
    assert began - 5000 < shown[0]["used_ms"] < time.time() * 1000 + 5000
    assert abs(made["token"]["expires_ms"] - began - 3_600_000) < 60_000
    # A minute before its end it is still good.
    for minutes, status in ((59, 200), (2, 401)):
        later = f"update token set expires_at = expires_at - interval '{minutes} minutes'"
        env.sql(f"{later} where token_id = '{made['token']['id']}'")
        wait_until(
            f"the answer {status}",
            lambda status=status: client.call("GET", "/v1/whoami", headers=token).status == status,
        )


def sign_in(client: Client, token: str) -> Tuple[str, Dict[str, str]]:
    """All of the cookie, and the header that shows it."""
    given = client.call("POST", "/v1/login", {"token": token}, PAGE)
    assert given.status == 200, given
    cookie = given.headers["set-cookie"]
    return cookie, {"Cookie": cookie.partition(";")[0]}


def test_a_cookie_is_for_our_own_page_and_ends_with_its_token(env, client):
    made = client.ok("POST", "/v1/tokens", {"name": "t", "role": "submitter"})
    text, cookie = sign_in(client, made["secret"])
    attributes = text.split("; ")[1:]
    assert attributes == ["Path=/", "Max-Age=43200", "HttpOnly", "SameSite=Strict"]
    assert re.fullmatch(r"tidemill=tidemill_web_[0-9a-f]{64}", text.split("; ")[0])

    job = {"name": "a", "spec": {}}
    host = f"127.0.0.1:{client.server.port}"
    tried = [
        (403, {}),
        (403, {"Origin": f"http://{host}"}),
        (403, {**PAGE, "Origin": "https://elsewhere.example"}),
        (403, {**PAGE, "Origin": "null"}),
        (403, {**PAGE, "Origin": f"http://{host}.elsewhere.example"}),
        (201, PAGE),
        (201, {**PAGE, "Origin": f"http://{host}"}),
    ]
    for status, headers in tried:
        answer = client.call("POST", "/v1/jobs", job, {**cookie, **headers})
        assert answer.status == status, headers
    assert client.call("GET", "/v1/jobs", headers=cookie).status == 200
    # A login from elsewhere would sign a person in as somebody else.
    foreign = {**PAGE, "Origin": "https://elsewhere.example"}
    assert client.call("POST", "/v1/login", {"token": made["secret"]}, foreign).status == 403

    _, second = sign_in(client, made["secret"])
    out = client.call("POST", "/v1/logout", headers={**cookie, **PAGE})
    assert "Max-Age=0" in out.headers["set-cookie"]
    assert client.call("GET", "/v1/jobs", headers=cookie).status == 401
    assert client.call("GET", "/v1/jobs", headers=second).status == 200
    client.ok("DELETE", f"/v1/tokens/{made['token']['id']}")
    assert client.call("GET", "/v1/jobs", headers=second).status == 401
    assert_kept_nowhere(env, [made["secret"], cookie["Cookie"], second["Cookie"]] * 7)


def test_a_cookie_goes_over_tls_only_if_it_was_got_so(env, tmp_path):
    client = Client(env.server(tls=Tls(tmp_path / "tls")))
    text, cookie = sign_in(client, client.server.token)
    assert text.split("; ")[-1] == "Secure"
    assert client.call("GET", "/v1/whoami", headers=cookie).status == 200


def flood(client: Client, count: int, token: str, method: str = "GET") -> List[Answer]:
    line = Connection(client.server, "127.0.0.1")
    path = "/v1/whoami" if method == "GET" else "/v1/projects/p"
    answers = [line.call(method, path, None, bearer(token)) for _ in range(count)]
    line.close()
    for answer in answers:
        if answer.status == 429:
            assert int(answer.headers["retry-after"]) >= 1
            CONTRACT.check(method, path, answer)
    return answers


def statuses(answers: List[Answer]) -> collections.Counter:
    return collections.Counter(answer.status for answer in answers)


def test_calls_are_limited_by_token_and_by_project(client):
    client.ok("PUT", f"/v1/projects/{OWN}", {"calls_per_second": 10})
    client.ok("PUT", f"/v1/projects/{OTHER}", {"calls_per_second": 10})
    make = {"role": "viewer", "project": OWN}
    tokens = [
        client.ok("POST", "/v1/tokens", {**make, "name": f"t{i}"})["secret"] for i in range(4)
    ]
    # 10 a second for four seconds are 40; a single token has half of them. What fills up again
    # meanwhile is more: half of it, or all.
    began = time.monotonic()
    one = statuses(flood(client, 60, tokens[0]))
    took = time.monotonic() - began
    assert 20 <= one[200] <= 21 + 5 * took and one[429] == 60 - one[200]
    rest = statuses([each for token in tokens[1:] for each in flood(client, 30, token)])
    took = time.monotonic() - began
    assert 18 <= rest[200] <= 21 + 10 * took and rest[429] == 90 - rest[200]
    # Others have their own.
    other = client.ok("POST", "/v1/tokens", {**make, "name": "o", "project": OTHER})["secret"]
    began = time.monotonic()
    assert statuses(flood(client, 10, other)) == {200: 10}
    # Whoever may not make a call is limited too: each such write is a row of the audit.
    refused = statuses(flood(client, 40, other, "PUT"))
    took = time.monotonic() - began
    assert set(refused) <= {403, 429} and refused[403] <= 11 + 5 * took
    wait_until("the token to be let in again", lambda: flood(client, 1, tokens[0])[0].status == 200)


def test_wrong_tokens_from_one_address_are_slowed_down(client):
    bad, good = Connection(client.server, "127.0.7.1"), Connection(client.server, "127.0.7.2")
    shown = [f"tidemill_{i:064x}" for i in range(30)]

    def ask(line: Connection, token: str) -> int:
        answer = line.call("GET", "/v1/whoami", None, bearer(token))
        assert answer.status != 429 or answer.headers["retry-after"] == "1"
        return answer.status

    began = time.monotonic()
    answers = [ask(bad, token) for token in shown]
    # With each second that has passed meanwhile one more is let through.
    took = time.monotonic() - began
    assert answers[:20] == [401] * 20 and answers.count(429) >= 9 - took
    # What is not looked up is not counted: an old script locks nobody out.
    assert {ask(bad, "hunter2") for _ in range(30)} == {401}
    assert {ask(good, shown[0]) for _ in range(30)} == {401}
    login = bad.call("POST", "/v1/login", {"token": NO_TOKEN}, PAGE)
    assert login.status in (401, 429)
    # Good tokens elsewhere do not notice. Those behind the same address have to wait, but no
    # longer than it takes until one more wrong one would be let through.
    assert ask(good, client.server.token) == 200
    wait_until("the good token", lambda: ask(bad, client.server.token) == 200)
    assert ask(bad, client.server.token) == 200


def test_a_project_has_no_more_items_than_it_may(client):
    client.ok("PUT", f"/v1/projects/{OWN}", {"items": 10})
    made = client.ok("POST", "/v1/tokens", {"name": "t", "role": "submitter", "project": OWN})
    mine = {"headers": bearer(made["secret"])}
    jobs = [client.ok("POST", "/v1/jobs", {"name": "a", "spec": {}}, **mine) for _ in range(2)]
    first, second = (f"/v1/jobs/{job['id']}" for job in jobs)
    assert client.call("PUT", f"{first}/parts/0", {"range": 11}, **mine).status == 429
    assert client.ok("PUT", f"{first}/parts/0", {"range": 8}, **mine)["items"] == 8
    assert client.call("PUT", f"{second}/parts/0", {"range": 3}, **mine).status == 429
    assert client.ok("PUT", f"{second}/parts/0", {"range": 2}, **mine)["items"] == 2
    # What is stored already is answered as it was.
    assert client.ok("PUT", f"{first}/parts/0", {"range": 8}, **mine)["items"] == 8
    client.ok("POST", f"{first}/cancel", **mine)
    wait_until(
        "room",
        lambda: client.call("PUT", f"{second}/parts/1", {"range": 8}, **mine).status == 200,
    )
    # Another project's are its own.
    client.submit([str(i) for i in range(20)])


def join_token(client: Client, project: str = "default", **more: Any) -> Dict[str, Any]:
    request = {"kind": "join", "name": "j", "pool": "default", "project": project, **more}
    return dict(client.ok("POST", "/v1/tokens", request))


def test_join_tokens_are_worth_what_was_said(env, client):
    once = join_token(client, uses=1)
    first, second = Agent(client), Agent(client)
    assert first.try_join(once["secret"]).status == 200
    assert first.try_join(once["secret"]).status == 200  # the same session, said again
    assert second.try_join(once["secret"]).status == 401
    shown = {each["id"]: each for each in client.ok("GET", "/v1/tokens")["tokens"]}
    assert shown[once["token"]["id"]]["uses_left"] == 0

    revoked = join_token(client)
    client.ok("DELETE", f"/v1/tokens/{revoked['token']['id']}")
    short = join_token(client, life_seconds=1)
    wait_until("it to expire", lambda: Agent(client).try_join(short["secret"]).status == 401)
    api = client.ok("POST", "/v1/tokens", {"name": "t", "role": "admin"})["secret"]
    for wrong in (revoked["secret"], short["secret"], api, NO_JOIN_TOKEN, "", first.token):
        answer = second.try_join(wrong)
        # A session's token that is not its own is not told apart from one that has ended.
        assert answer.status == (410 if wrong == first.token else 401), wrong
    assert (
        env.sql(f"select count(*) from agent_session where session_id = '{second.session}'") == "0"
    )

    # A pool is its project's: its machines get the work of no other.
    client.ok("PUT", f"/v1/projects/{OWN}")
    stranger = Agent(client)
    stranger.token = stranger.try_join(join_token(client, OWN)["secret"]).json()["token"]
    client.submit(["a", "b", "c"])
    assert first.try_join(client.server.join_token).status == 200
    honest = Agent(client)
    honest.join()
    assert honest.lease()
    assert stranger.sync()["leases"] == []
    machines = client.ok("GET", "/v1/machines", headers={"Tidemill-Project": OWN})["machines"]
    assert [machine["session"] for machine in machines] == [stranger.session]
    # Nor can a token be made for a pool that is only another's.
    client.ok("PUT", "/v1/pools/gpu")
    request = {"kind": "join", "name": "j", "pool": "gpu", "project": OWN}
    assert client.call("POST", "/v1/tokens", request).status == 404


def test_a_machine_is_known_by_its_key(client):
    client.submit([str(i) for i in range(100)])
    machine = Agent(client, cpus=1)
    machine.join()
    lease = machine.lease()
    token = client.server.join_token

    thief = Agent(client)
    thief.machine = machine.machine
    assert thief.try_join(token, machine_key="another").status == 409
    assert thief.try_join(token, machine_key="another", session=machine.session).status == 409
    # Also with the session's own token, if the key is not there.
    assert thief.try_join(machine.token, machine_key="x", session=machine.session).status == 409
    assert machine.sync(leases=[lease["lease"]])["gone"] == []

    again = Agent(client, cpus=1)
    again.machine = machine.machine
    joined = again.try_join(token)
    assert joined.status == 200
    again.token = joined.json()["token"]
    assert machine.call().status == 410
    assert machine.fetch(f"/jobs/{lease['job']}").status == 410
    assert again.sync(free={"cpus": 0, "memory": 0})["leases"] == []


def test_an_old_session_token_ends_when_the_new_one_is_used(env, client):
    agent = Agent(client)
    agent.join()
    old = agent.token
    env.sql("update agent_session set token_at = token_at - interval '31 minutes'")
    offered = wait_until("another token", lambda: agent.sync().get("token"))
    assert agent.call().status == 200  # the answer may have been lost
    agent.token = offered
    assert agent.call().status == 200
    agent.token = old
    assert agent.call().status == 410
    agent.token = offered
    assert agent.call().status == 200
    env.sql("update agent_session set token_at = token_at - interval '61 minutes'")
    assert agent.call().status == 410
    assert agent.fetch("/jobs/1").status == 410
    assert Http(client.server.port, token=offered).get("/v1/jobs").status == 401


def test_only_admins_of_the_project_give_tokens_away(client):
    client.ok("PUT", f"/v1/projects/{OWN}")
    made = client.ok("POST", "/v1/tokens", {"name": "a", "role": "admin", "project": OWN})
    mine = {"headers": bearer(made["secret"])}
    for project, status in ((OWN, 201), ("*", 403), ("default", 404), ("never", 404)):
        request = {"name": "t", "role": "viewer", "project": project}
        assert client.call("POST", "/v1/tokens", request, **mine).status == status, project
    answers = [
        client.call("POST", "/v1/tokens", {"name": "t", "role": "viewer", "project": name}, **mine)
        for name in ("default", "nothere")
    ]
    assert answers[0].body == answers[1].body
    # Nor do they end what is not theirs, be it another project's, for all, or not there.
    ids = [
        each["id"] for each in client.ok("GET", "/v1/tokens")["tokens"] if each["project"] != OWN
    ]
    for token in [*ids, str(uuid.uuid4())]:
        assert client.call("DELETE", f"/v1/tokens/{token}", **mine).status == 404
    assert client.call("GET", "/v1/jobs").status == 200
