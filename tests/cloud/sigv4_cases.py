#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints requests and what botocore's signer makes of them, for our own to be held against.

usage: sigv4_cases.py COUNT

A line a case, its fields in hex and apart by one space; a list's parts are apart by commas, and a
pair's by a colon. Empty text is "-".
"""

import datetime
import hashlib
import random
import sys
from typing import Iterable, List, Tuple
from urllib.parse import quote, urlsplit

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

ODD = [
    "a b",
    "a+b",
    "é/ü",
    "(=)",
    "a//b",
    "a'b*!",
    "100%",
    "x?y=1&z",
    "%2F",
    "~._-",
    "日本",
    "a\tb",
]
ODD += ["dots/../up", "./x", "a/./b", "/", "end/", ";,:@$", '"<>\\^`{|}', "#frag", "a=b", "\x7f"]
SERVICES = ["s3", "s3", "s3", "ecr", "sts", "ec2", "autoscaling"]
REGIONS = ["us-east-1", "eu-central-1", "cn-north-1", "us-gov-west-1"]
HOSTS = [
    "bucket.s3.amazonaws.com",
    "127.0.0.1:7070",
    "[::1]:9000",
    "api.ecr.eu-west-1.amazonaws.com",
]
HEADERS = ["Content-Type", "Range", "If-None-Match", "x-amz-meta-a", "X-Amz-Target", "User-Agent"]
VALUES = ["application/json", "bytes=0-9", "*", "  two   spaces ", "a,b", "é", "x=1; y", "Expect"]
Pairs = List[Tuple[str, str]]


def hexed(text: str) -> str:
    return text.encode().hex() or "-"


def listed(pairs: Iterable[Tuple[str, str]]) -> str:
    return ",".join(f"{hexed(name)}:{hexed(value)}" for name, value in pairs) or "-"


def text_of(rng: random.Random) -> str:
    return "".join(rng.choice(ODD + list("abcXYZ019")) for _ in range(rng.randint(0, 4)))


def query_of(rng: random.Random, is_presigned: bool) -> Pairs:
    pairs = [(text_of(rng) or "k", text_of(rng)) for _ in range(rng.randint(0, 4))]
    # For a URL that is signed, botocore holds the query in a dict, without a name twice; and its
    # values must survive a parse of the query.
    return list(dict(pairs).items()) if is_presigned else pairs


def signer(rng: random.Random, service: str, lasts_s: int):
    name = "S3SigV4" if service == "s3" else "SigV4"
    token = text_of(rng).strip() or None
    if token is not None:
        token = quote(token)
    keys = Credentials("AK" + str(rng.randrange(10**9)), "secret/" + text_of(rng), token)
    region = rng.choice(REGIONS)
    if not lasts_s:
        return getattr(botocore.auth, name + "Auth")(keys, service, region)
    return getattr(botocore.auth, name + "QueryAuth")(keys, service, region, expires=lasts_s)


def case_of(rng: random.Random) -> str:
    service = rng.choice(SERVICES)
    lasts_s = rng.choice([0, 0, 0, 1, 3600, 604800])
    auth = signer(rng, service, lasts_s)
    now_s = rng.randrange(1, 4 * 10**9)
    now = datetime.datetime.fromtimestamp(now_s, datetime.timezone.utc)
    botocore.auth.get_current_datetime = lambda *_, **__: now
    method, host = rng.choice(["GET", "PUT", "POST", "HEAD", "DELETE"]), rng.choice(HOSTS)
    path, query = "/" + text_of(rng), query_of(rng, lasts_s > 0)
    headers = [(n, rng.choice(VALUES)) for n in rng.sample(HEADERS, rng.randint(0, 3))]
    body = b"" if lasts_s else text_of(rng).encode()
    unsigned = service == "s3" and rng.random() < 0.5
    request = AWSRequest(
        method=method, url="https://" + host + quote(path, safe="-_.~/"), data=body
    )
    for name, value in headers:
        request.headers.add_header(name, value)
    request.params = query if not lasts_s else dict(query)
    if unsigned:
        config = type("Config", (), {"s3": {"payload_signing_enabled": False}})
        request.context["client_config"] = config
    auth.add_auth(request)
    # What is signed for anybody is unsigned in its body at S3, and has an empty one elsewhere.
    unsigned = unsigned or (service == "s3" and lasts_s > 0)
    payload = "UNSIGNED-PAYLOAD" if unsigned else hashlib.sha256(body).hexdigest()
    if lasts_s:
        expected = request.url.rpartition("X-Amz-Signature=")[2]
    else:
        expected = request.headers["Authorization"]
    keys, target = auth.credentials, urlsplit(request.url).path
    plain = [service, auth._region_name, keys.access_key, keys.secret_key, keys.token or ""]
    plain += [str(now_s), str(lasts_s), method, host, path, payload, target, expected]
    return " ".join([hexed(text) for text in plain] + [listed(query), listed(headers)])


def main() -> int:
    rng = random.Random(20260501)
    for _ in range(int(sys.argv[1])):
        print(case_of(rng))
    return 0


if __name__ == "__main__":
    sys.exit(main())
