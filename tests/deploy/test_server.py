# SPDX-License-Identifier: Apache-2.0
"""deploy/image/server.sh, as Terraform writes it: a server with its own database.

The second machine of a cloud finds what the first one left, and nothing on its own disk.
"""

import re
import subprocess

import pytest
from booted import Cloud, Server

# Says what tidemill-server says, without a build.
SERVER = """#!/bin/sh
case $1 in
  secret-key) echo "key-$(head -c 8 /dev/urandom | od -An -tx1 | tr -d ' ')" ;;
  token)
    psql -q "$TIDEMILL_DATABASE" -c 'CREATE TABLE kept AS SELECT now() AS since' || exit 5
    echo "tidemill_$(id -un)" > "$3" ;;
esac
"""
PROGRAMS = {"tidemill-server": SERVER.encode()}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    given = {"region": "eu-west-1", "account": "123456789012"}
    return Cloud(tmp_path_factory.mktemp("aws"), "aws", given, PROGRAMS)


@pytest.fixture(scope="module")
def first(cloud):
    server = Server(cloud, "first")
    server.said = server.boot()
    yield server
    server.end()


def test_a_stock_machine_becomes_a_server(cloud, first):
    assert "server: ready on port 8443" in first.said
    assert sorted(cloud.kept()) == ["admin-token", "certificate-key", "secret-keys"]
    assert cloud.kept()["admin-token"] == "tidemill_tidemill\n"
    settings = first.read("/etc/tidemill/server.env").splitlines()
    assert settings == [
        "TIDEMILL_DATABASE=host=/run/postgresql dbname=tidemill user=tidemill",
        "TIDEMILL_OBJECTS=s3://tidemill-main-123456789012-eu-west-1/tidemill",
        "TIDEMILL_SERVER_FLAGS=--aws-certificates /etc/tidemill/aws.pem",
        "AWS_REGION=eu-west-1",
    ]
    modes = first.run("sh", "-c", "cd /etc/tidemill && stat -c '%U %a %n' *").stdout.splitlines()
    assert modes == [
        "root 644 aws.pem",
        "tidemill 600 cert.key",
        "tidemill 600 cert.pem",
        "tidemill 600 secret.keys",
        "root 600 server.env",
        "root 644 tidemill.yaml",
    ]
    assert first.read("/var/log/fake-systemctl").splitlines()[-3:] == [
        "daemon-reload",
        "enable --quiet tidemill-server",
        "restart tidemill-server",
    ]
    assert first.ask("SELECT count(*) FROM kept") == "1"


def test_its_certificate_is_for_its_addresses_and_for_no_other(cloud, first):
    cert = cloud.bucket / "server/ca.pem"
    assert first.read("/etc/tidemill/cert.pem") == cert.read_text()
    for address, match in (("10.77.0.10", True), ("203.0.113.7", True), ("10.77.0.11", False)):
        words = ["openssl", "x509", "-noout", "-checkip", address, "-in", cert]
        said = subprocess.run(words, stdout=subprocess.PIPE, text=True).stdout
        assert ("does match" in said) == match
    words = ["openssl", "verify", "-CAfile", cert, cert]
    assert subprocess.run(words, stdout=subprocess.DEVNULL).returncode == 0


def test_a_second_run_keeps_what_is_there(cloud, first):
    before = cloud.kept(), first.read("/etc/tidemill/cert.pem")
    assert "making" not in first.boot()
    assert (cloud.kept(), first.read("/etc/tidemill/cert.pem")) == before


def test_what_is_out_of_reach_is_not_made_anew(cloud, first):
    before = cloud.kept()
    (cloud.store / "down").touch()
    try:
        done = first.run("/root/boot")
    finally:
        (cloud.store / "down").unlink()
    assert done.returncode != 0 and "making" not in done.stdout
    assert cloud.kept() == before


def test_other_programs_than_terraform_stored_are_not_installed(cloud, first):
    sums = cloud.bucket / "programs/SHA256SUMS"
    text = sums.read_text()
    sums.write_text(text.replace(text[:8], "00000000"))
    try:
        done = first.run("/root/boot")
    finally:
        sums.write_text(text)
    assert done.returncode == 1 and "is not the one that Terraform wrote" in done.stdout


def test_another_machine_goes_on_with_what_the_first_one_left(cloud, first):
    since = first.ask("SELECT since FROM kept")
    assert since
    before = cloud.kept(), first.read("/etc/tidemill/cert.pem")
    first.run("pg_ctlcluster", "15", "main", "stop").check_returncode()
    second = Server(cloud, "second")
    try:
        assert "making" not in second.boot()
        assert (cloud.kept(), second.read("/etc/tidemill/cert.pem")) == before
        assert second.read("/etc/tidemill/secret.keys") == before[0]["secret-keys"]
        assert second.ask("SELECT since FROM kept") == since
    finally:
        second.end()


def test_the_same_on_google(tmp_path):
    given = {"project": "films-1", "zone": "europe-west4-a"}
    cloud = Cloud(tmp_path, "gcp", given, PROGRAMS)
    cloud.change("ADDRESSES", "10.77.0.10")
    machine = Server(cloud, "machine")
    try:
        assert "server: ready on port 8443" in machine.boot()
        begin = "tidemill-main-"
        names = [begin + name for name in ("admin-token", "certificate-key", "secret-keys")]
        assert sorted(cloud.kept()) == names
        settings = machine.read("/etc/tidemill/server.env")
        assert "TIDEMILL_OBJECTS=gs://tidemill-main-films-1/tidemill\n" in settings
        audience = "--proof-audience https://tidemill-main-private.address:8443\n"
        assert f"TIDEMILL_SERVER_FLAGS={audience}" in settings
        assert (cloud.bucket / "server/ca.pem").exists()
        assert machine.ask("SELECT count(*) FROM kept") == "1"
    finally:
        machine.end()


# A database behind TLS, whose owner is no superuser.
DATABASE = """set -e
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=rds \\
  -addext subjectAltName=IP:127.0.0.1 -keyout /root/rds.key -out /store/rds.pem 2> /dev/null
install -o postgres -m 600 /root/rds.key /store/rds.pem /var/lib/postgresql/
pg_createcluster -o ssl_cert_file=/var/lib/postgresql/rds.pem \\
  -o ssl_key_file=/var/lib/postgresql/rds.key 15 main > /dev/null
systemctl restart postgresql@15-main
runuser -u postgres -- psql -q << 'END'
CREATE ROLE master LOGIN CREATEROLE CREATEDB PASSWORD 'of "RDS" $1';
CREATE ROLE cloudsqlsuperuser;
CREATE DATABASE tidemill OWNER OWNER_OF_IT;
END
"""
DATABASES = [
    ("aws", {"region": "eu-west-1", "account": "123456789012"}, "master", "verify-full"),
    ("gcp", {"project": "films-1", "zone": "europe-west4-a"}, "cloudsqlsuperuser", "require"),
]


def conninfo(machine):
    settings = machine.read("/etc/tidemill/server.env")
    return re.search("^TIDEMILL_DATABASE=(.*)$", settings, re.MULTILINE)[1]


@pytest.mark.parametrize("module, given, owner, mode", DATABASES)
def test_with_a_database_of_the_cloud_the_server_has_a_user_of_its_own(
    tmp_path, module, given, owner, mode
):
    cloud = Cloud(tmp_path, module, {**given, "small": False}, PROGRAMS)
    cloud.change("DATABASE_HOST", "127.0.0.1")
    cloud.change("ADDRESSES", "10.77.0.10")
    (cloud.store / "secret").write_text('{"username":"master","password":"of \\"RDS\\" $1"}')
    machine = Server(cloud, "machine")
    try:
        made = machine.run("bash", "-c", DATABASE.replace("OWNER_OF_IT", owner))
        assert made.returncode == 0, made.stdout
        machine.boot()
        first = conninfo(machine)
        assert "user=tidemill" in first and f"sslmode={mode}" in first
        query = "SELECT usename, ssl FROM pg_stat_ssl NATURAL JOIN pg_stat_activity"
        query += " WHERE pid = pg_backend_pid()"
        assert machine.run("psql", "-qAt", first, "-c", query).stdout == "tidemill|t\n"
        machine.boot()
        second = conninfo(machine)
        assert second != first, "a password is made at each setup, and is nowhere else"
        kept = machine.run("psql", "-qAt", second, "-c", "SELECT count(*) FROM kept")
        assert kept.stdout == "1\n"
        assert machine.run("psql", "-qAt", first, "-c", "SELECT 1").returncode != 0
    finally:
        machine.end()
