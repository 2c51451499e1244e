# SPDX-License-Identifier: Apache-2.0
"""Image registries that do not behave, on loopback: each connection is given to a function.

None of those that are slow ever comes to an end by itself: only a server that gives up ends them.
"""

import contextlib
import socket
import threading
import time
from typing import Callable, Dict, Iterator

FOUND = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
DIGEST = "sha256:" + "ab" * 32


def request_of(peer: socket.socket) -> str:
    """The head of a request; empty at the end."""
    text = b""
    while b"\r\n\r\n" not in text:
        some = peer.recv(4096)
        if not some:
            return ""
        text += some
    return text.decode()


def says(answer: str) -> Callable[[socket.socket], None]:
    def speak(peer: socket.socket) -> None:
        while request_of(peer):
            peer.sendall(answer.encode())

    return speak


def silent(peer: socket.socket) -> None:
    while peer.recv(4096):
        pass


def drips(peer: socket.socket) -> None:
    """A byte of a header field now and then."""
    request_of(peer)
    peer.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        peer.sendall(b"x")
        time.sleep(0.2)


def endless_head(peer: socket.socket) -> None:
    request_of(peer)
    peer.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        peer.sendall(b"X-More: and more\r\n" * 100)


def endless_body(peer: socket.socket) -> None:
    """No digest, so that the manifest is asked for; and that has no end."""
    request_of(peer)
    peer.sendall((FOUND + "Content-Length: 9\r\n\r\n").encode())
    request_of(peer)
    peer.sendall((FOUND + "Transfer-Encoding: chunked\r\n\r\n").encode())
    while True:
        peer.sendall(b"400\r\n" + b"x" * 0x400 + b"\r\n")


def redirect(location: str) -> Callable[[socket.socket], None]:
    return says(f"HTTP/1.1 307 Go\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")


def wants(challenge: str) -> Callable[[socket.socket], None]:
    head = f"HTTP/1.1 401 No\r\nWWW-Authenticate: {challenge}\r\n"
    return says(head + "Content-Length: 0\r\n\r\n")


METADATA = "http://169.254.169.254/latest/meta-data/iam"
HOSTILE: Dict[str, Callable[[socket.socket], None]] = {
    "silent": silent,
    "drips": drips,
    "an endless head": endless_head,
    "an endless body": endless_body,
    "no HTTP": says("SSH-2.0-OpenSSH\r\n\r\n"),
    "closes": lambda peer: None,
    "a redirect to metadata": redirect(METADATA),
    "a redirect to itself": redirect("/v2/a/manifests/latest"),
    "a redirect without a host": redirect("//169.254.169.254/latest"),
    "a bad digest": says(FOUND + "Docker-Content-Digest: latest\r\nContent-Length: 0\r\n\r\n"),
    "a long digest": says(FOUND + f"Docker-Content-Digest: {DIGEST}0\r\nContent-Length: 0\r\n\r\n"),
    "a server's fault": says("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"),
    "a realm in clear text": wants(f'Bearer realm="{METADATA}"'),
    "a realm that is none": wants('Bearer realm="nowhere"'),
}


@contextlib.contextmanager
def serving(behave: Callable[[socket.socket], None]) -> Iterator[str]:
    """Gives its host and port."""

    def talk(peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            behave(peer)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                threading.Thread(target=talk, args=(peer,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
