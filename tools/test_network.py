#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A network of the tests' own, so that no rule or bridge of theirs is the machine's.

Two network namespaces: one that stands for the machine, in which the tests and their Docker Engine
run, and one behind a cable that stands for the cloud around it, with a metadata service at all the
addresses where clouds have one. Needs root.

Run as a program (by Cloud, in its own namespace) it is that service:

usage: test_network.py FOLDER
"""

import ctypes
import json
import os
import pathlib
import selectors
import shutil
import socket
import subprocess
import sys
import time
from typing import List, Optional

CLONE_NEWNET = 0x40000000
START_SECONDS = 60

CLOUD, MACHINE = "198.51.100.1", "198.51.100.2"
CLOUD6, MACHINE6 = "2001:db8::1", "2001:db8::2"
PRIVATE = "10.99.0.1"  # somebody's own network: open by default
METADATA = ["169.254.169.254", "169.254.170.2", "169.254.1.1", "168.63.129.16"]
METADATA6 = ["fd00:ec2::254", "fd20:ce::254"]
TCP_PORTS = [53, 80, 443, 8080, 32526]
UDP_PORTS = [53, 123]


def enter_own_network() -> None:
    """From here on this process and its children have a network with nothing in it but loopback."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "a network namespace of our own")
    ip("link", "set", "lo", "up")


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


class Cloud:
    """What is around the machine. It keeps a list of who got through to it."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.hits = folder / "hits"
        self._folder = folder
        self._process: Optional[subprocess.Popen] = None

    def start(self) -> None:
        command = ["unshare", "--net", sys.executable, __file__, str(self._folder)]
        if setpriv := shutil.which("setpriv"):
            command = [setpriv, "--pdeathsig", "SIGKILL", *command]
        self._process = subprocess.Popen(command)
        self._wait_for("waiting")
        ip("link", "add", "cable0", "type", "veth", "peer", "cloud0", "netns", self._pid())
        ip("address", "add", f"{MACHINE}/24", "dev", "cable0")
        ip("-6", "address", "add", f"{MACHINE6}/64", "dev", "cable0", "nodad")
        ip("link", "set", "cable0", "up")
        for address in [PRIVATE, *METADATA]:
            ip("route", "add", address, "via", CLOUD)
        for address in METADATA6:
            ip("-6", "route", "add", address, "via", CLOUD6)
        pathlib.Path("/proc/sys/net/ipv6/conf/all/forwarding").write_text("1")
        self._wait_for("ready")

    def close(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()

    def _pid(self) -> str:
        return (self._folder / "waiting").read_text()

    def _wait_for(self, name: str) -> None:
        end = time.monotonic() + START_SECONDS
        while not (self._folder / name).exists():
            assert self._process and self._process.poll() is None, "the cloud has ended"
            assert time.monotonic() < end, f"the cloud is not {name}"
            time.sleep(0.01)


def say(folder: pathlib.Path, name: str) -> None:
    partial = folder / f"{name}.partial"
    partial.write_text(str(os.getpid()))
    partial.rename(folder / name)


def listeners() -> List[socket.socket]:
    made = []
    for kind, ports in ((socket.SOCK_STREAM, TCP_PORTS), (socket.SOCK_DGRAM, UDP_PORTS)):
        for port in ports:
            for address in [CLOUD, PRIVATE, *METADATA]:
                made.append(socket.socket(socket.AF_INET, kind))
                made[-1].bind((address, port))
            for address in [CLOUD6, *METADATA6]:
                made.append(socket.socket(socket.AF_INET6, kind))
                made[-1].bind((address, port))
    for one in made:
        if one.type == socket.SOCK_STREAM:
            one.listen(100)
    return made


def dns_answer(query: bytes) -> bytes:
    """Whatever is asked for: it is at the metadata service's address."""
    record = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton(METADATA[0])
    return query[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + query[12:] + record


def answer(one: socket.socket) -> None:
    if one.type == socket.SOCK_DGRAM:
        query, peer = one.recvfrom(2000)
        one.sendto(dns_answer(query) if len(query) > 12 else b"time", peer)
        return
    stream, _ = one.accept()
    with stream:
        stream.settimeout(1)
        try:
            asked = stream.recv(2000)
            head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
            if b"/redirect" in asked:
                target = f"http://{METADATA[0]}/latest/meta-data/"
                head = f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nConnection: close\r\n\r\n"
            stream.sendall(f"{head}a secret\n".encode())
        except OSError:
            pass  # it has gone


def serve(folder: pathlib.Path) -> None:
    say(folder, "waiting")
    while "cloud0" not in pathlib.Path("/proc/net/dev").read_text():
        time.sleep(0.01)
    ip("link", "set", "lo", "up")
    for address in [f"{CLOUD}/24", PRIVATE, *METADATA]:
        ip("address", "add", address, "dev", "cloud0")
    for address in [f"{CLOUD6}/64", *METADATA6]:
        ip("-6", "address", "add", address, "dev", "cloud0", "nodad")
    ip("link", "set", "cloud0", "up")
    ip("route", "add", "default", "via", MACHINE)
    ip("-6", "route", "add", "default", "via", MACHINE6)
    chooser = selectors.DefaultSelector()
    for one in listeners():
        chooser.register(one, selectors.EVENT_READ)
    say(folder, "ready")
    with open(folder / "hits", "a", buffering=1) as hits:
        while True:
            for key, _ in chooser.select():
                kind = "udp" if key.fileobj.type == socket.SOCK_DGRAM else "tcp"
                address, port = key.fileobj.getsockname()[:2]
                hits.write(json.dumps(f"{kind} {address} {port}") + "\n")
                answer(key.fileobj)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    serve(pathlib.Path(sys.argv[1]))
