# SPDX-License-Identifier: Apache-2.0
"""An authority and its servers' certificates, made with OpenSSL's own program."""

import pathlib
import ssl
import subprocess
from collections.abc import Sequence


def openssl(*words: object) -> None:
    done = subprocess.run(
        ["openssl", *map(str, words)],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout


class Tls:
    """The files that a server needs, and whom to believe that it is the one."""

    KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    HOSTS = ("DNS:localhost", "IP:127.0.0.1")

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.ca, self._ca_key = folder / "ca.pem", folder / "ca.key"
        self.certificate, self.key = folder / "server.pem", folder / "server.key"
        name = ("-subj", "/CN=the tests' authority")
        openssl("req", "-x509", *self.KEY, "-keyout", self._ca_key, "-out", self.ca, *name)
        self.make()

    def make(self, hosts: Sequence[str] = HOSTS) -> str:
        """Another certificate in place of the one before; gives it as PEM."""
        request, extra = self.folder / "request.pem", self.folder / "extra"
        extra.write_text(f"subjectAltName={','.join(hosts)}\n")
        openssl("req", "-new", *self.KEY, "-keyout", self.key, "-out", request, "-subj", "/CN=s")
        sign = ("x509", "-req", "-in", request, "-out", self.certificate, "-days", "2")
        by = ("-CA", self.ca, "-CAkey", self._ca_key, "-CAcreateserial", "-extfile", extra)
        openssl(*sign, *by)
        return self.certificate.read_text()

    @property
    def flags(self) -> Sequence[str]:
        return ("--tls-cert", str(self.certificate), "--tls-key", str(self.key))

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.ca))
