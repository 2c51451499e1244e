# SPDX-License-Identifier: Apache-2.0
"""Lists of items: in object stores, as tables, packed; at the size that people have."""

import csv
import gzip
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse

import pytest
from object_server import S3
from projects import cli_in, new_project

from cli import PLAIN


@pytest.fixture(scope="module")
def server(module_env):
    return module_env.server()


@pytest.fixture
def cli(server, tmp_path):
    """In a project of its own."""
    (tmp_path / "plain.yaml").write_text(PLAIN)
    return cli_in(new_project(server), tmp_path, server)


@pytest.fixture(scope="module")
def store(module_env):
    """An S3 server, which only the command line knows."""
    server = S3(module_env.folder).start()
    yield server
    server.kill9()


@pytest.fixture
def bucket(cli, store):
    """An empty bucket, as the folder that it is kept in; the command line knows it."""
    cli.env.update(store.environment)
    folder = store.bucket("scans")
    yield folder
    shutil.rmtree(folder)


def submitted(cli, *words):
    """The job's id."""
    said = cli("submit", "plain.yaml", *words, "-q")
    assert said.code == 0, said
    return said.out.strip()


def items_of(cli, job):
    said = cli("items", job, "--limit", "100000", "--json")
    pages = [json.loads(line) for line in said.out.splitlines()]
    return [item["text"] for page in pages for item in page["items"]]


def fill(bucket, folders, files):
    for i in range(folders * files):
        name = f"f{i % folders:02}/{i:07}.{'jpg' if i % 3 else 'txt'}"
        (bucket / name).parent.mkdir(exist_ok=True)
        (bucket / name).touch()


def test_a_pattern_of_a_store_is_a_list_of_its_objects(cli, bucket):
    fill(bucket, 12, 400)
    (bucket / "é 1+2.jpg").touch()
    said = cli("submit", "plain.yaml", "--items", "s3://scans/**/*.jpg")
    assert said.code == 0, said
    found = sorted(
        f"s3://scans/{path.relative_to(bucket)}".encode() for path in bucket.rglob("*.jpg")
    )
    items = items_of(cli, said.out.split()[0])
    assert items == [name.decode() for name in found]
    assert re.search(
        r"submitted: 3,201 items \(.*; 3,201 of 4,801 objects match, \S+/s\)", said.out
    )

    job = submitted(cli, "--items", "s3://scans/f0[3-5]/{0000003,*7}.jpg")
    expected = [name for name in items if re.search(r"/f0[3-5]/(0000003|\d+7)\.jpg$", name)]
    assert items_of(cli, job) == expected and len(expected) > 20


def test_a_table_in_a_store_is_a_list_of_its_rows(cli, bucket):
    rows = [{"id": str(i), "text": f'two\nlines, "{i}"'} for i in range(2000)]
    with gzip.open(bucket / "list.csv.gz", "wt", newline="") as file:
        writer = csv.DictWriter(file, ["id", "text"])
        writer.writeheader()
        writer.writerows(rows)
    job = submitted(cli, "--items", "s3://scans/list.csv.gz")
    assert [json.loads(item) for item in items_of(cli, job)] == rows
    (cli.folder / "list.jsonl").write_text('{"a": 1}\n\n{"a": 2}\n')
    job = submitted(cli, "--items", "list.jsonl")
    assert items_of(cli, job) == ['{"a": 1}', '{"a": 2}']


def test_local_files_are_stored_by_their_hash(cli, bucket, tmp_path):
    photos = tmp_path / "photos"
    photos.mkdir()
    for i in range(50):
        (photos / f"{i}.jpg").write_bytes(b"%d" % (i // 2))
    (photos / "large.bin").write_bytes(os.urandom(20 << 20))
    (tmp_path / "list.txt").write_text("".join(f"photos/{p.name}\n" for p in photos.iterdir()))
    upload = ("submit", "plain.yaml", "--items", "list.txt", "--upload", "s3://scans/in")
    said = cli(*upload)
    assert said.code == 0 and "; stored 51 files, 21" in said.out, said
    items = items_of(cli, said.out.split()[0])
    assert len(items) == len(set(items)) == 51
    for item in items:
        digest, name = re.fullmatch(r"s3://scans/in/([0-9a-f]{64})/(.*)", item).groups()
        body = (bucket / "in" / digest / name).read_bytes()
        assert hashlib.sha256(body).hexdigest() == digest
        assert body == (photos / name).read_bytes()
    said = cli(*upload)
    assert said.code == 0 and "51 there already" in said.out, said
    (tmp_path / "list.txt").write_text("photos/1.jpg\nphotos/none.jpg\n")
    said = cli(*upload)
    assert said.code == 2 and "list.txt:2: cannot read photos/none.jpg" in said.err, said
    assert cli("submit", "plain.yaml", "--items", "list.txt", "--upload", "in").code == 2


@pytest.mark.parametrize(
    "items, variables, code, error, hint",
    [
        ("s3://scans/*.png", {}, 3, "nothing matches s3://scans/*.png (1 object looked at)", ""),
        ("s3://none/*", {}, 3, "NoSuchBucket", "AWS_ENDPOINT_URL_S3"),
        ("s3://scans/none.csv", {}, 3, "s3://scans/none.csv", ""),
        ("s3://scans/*", {"AWS_SECRET_ACCESS_KEY": "wrong"}, 4, "403", "AWS_PROFILE"),
        (
            "s3://scans/*",
            {"AWS_ACCESS_KEY_ID": ""},
            4,
            "no credentials for AWS",
            "AWS_PROFILE",
        ),
        ("s3://scans/*", {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9"}, 5, "refused", "network"),
        ("s3://scans/[a", {}, 2, "a '[' without its ']'", ""),
        ("s3://scans/", {}, 2, "write 's3://scans/**'", ""),
        ("file:///nonexistent/*", {}, 3, "nothing matches", ""),
    ],
)
def test_a_list_that_cannot_be_had_says_what_to_do(
    cli, bucket, items, variables, code, error, hint
):
    (bucket / "a.jpg").touch()
    said = cli("submit", "plain.yaml", "--items", items, **variables)
    assert said.code == code, said
    assert error in said.err and hint in said.err, said
    assert cli("jobs", "-q").out == ""


class Listing(http.server.BaseHTTPRequestHandler):
    """A bucket of a million objects in twenty folders, which only lists; nothing is kept of it."""

    protocol_version = "HTTP/1.1"
    FOLDERS, FILES = 20, 50_000

    @classmethod
    def key(cls, number):
        return f"in/f{number // cls.FILES:02}/{number % cls.FILES:07}.jpg"

    @classmethod
    def behind(cls, key):
        """The number of the first object behind a key."""
        low, high = 0, cls.FOLDERS * cls.FILES
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if cls.key(middle) <= key else (low, middle)
        return low

    def do_GET(self):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        prefix, end = query.get("prefix", ""), self.FOLDERS * self.FILES
        first = self.behind(query.get("continuation-token") or query.get("start-after", ""))
        last, body = min(first + 1000, end), []
        if query.get("delimiter") and prefix == "in/":
            names = [f"in/f{i:02}/" for i in range(min(first, end - 1) // self.FILES, self.FOLDERS)]
            body = [f"<CommonPrefixes><Prefix>{n}</Prefix></CommonPrefixes>" for n in names]
            last = end
        else:
            keys = [self.key(i) for i in range(first, last)]
            body = [
                f"<Contents><Key>{key}</Key><Size>1</Size><ETag>&quot;x&quot;</ETag></Contents>"
                for key in keys
                if key.startswith(prefix)
            ]
        if last < end:
            body.append(
                f"<IsTruncated>true</IsTruncated><NextContinuationToken>"
                f"{self.key(last - 1)}</NextContinuationToken>"
            )
        data = ("<ListBucketResult>" + "".join(body) + "</ListBucketResult>").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


# Runs a command and ends its own stderr with the most memory that the command used, in KiB. The
# kernel counts the memory of the process that forked it too, so that one must be small.
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def test_a_million_objects_are_listed_in_little_memory(cli):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    cli.env.update(
        AWS_ENDPOINT_URL_S3=f"http://127.0.0.1:{server.server_port}",
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY="test-secret",
        AWS_REGION="us-east-1",
        AWS_EC2_METADATA_DISABLED="true",
    )
    words = [cli.program, "submit", "plain.yaml", "--items", "s3://big/in/**/*.jpg"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *words],
        cwd=cli.folder,
        env=cli.env,
        capture_output=True,
        text=True,
    )
    server.shutdown()
    said = done.stdout
    assert done.returncode == 0, done.stderr
    assert "1,000,000 of 1,000,000 objects match" in said
    assert cli("show", said.split()[0], "--json").json()["items"] == 1_000_000
    # 64 MiB that wait for their turn, a part, some pages.
    assert int(done.stderr.split()[-1]) < 250 * 1024
