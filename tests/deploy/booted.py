# SPDX-License-Identifier: Apache-2.0
"""A server of the smallest form, as Terraform writes it, on a stock machine."""

import pathlib
import re

from played import Played
from stock import Stock, put_bucket

# Not there on a stock machine; PostgreSQL's disk is the cloud's.
WITHOUT = ("/etc/tidemill", "/etc/postgresql/15", "/var/lib/postgresql")

# The server, where its script is, and what objects are.
KINDS = {
    "aws": ("aws_instance.server", "user_data", "aws_s3_object"),
    "gcp": (
        "google_compute_instance.server",
        "metadata_startup_script",
        "google_storage_bucket_object",
    ),
}


class Cloud:
    """A bucket as Terraform leaves it, what is kept, and the disk of the database."""

    def __init__(self, folder: pathlib.Path, module: str, given: dict, programs: dict):
        played = Played(folder / "terraform", module)
        for name, content in programs.items():
            (played.programs / name).write_bytes(content)
        state = played.apply(**{"small": True, **given})
        server, script, objects = KINDS[module]
        self.folder = folder
        self.store = folder / "store"
        self.bucket = self.store / state.outputs["objects"].partition("://")[2]
        put_bucket(self.bucket, state, objects, played.programs)
        (self.store / "postgresql").mkdir()
        self.script = state[server][script]
        self.disk = re.search("DATABASE_DISK='(.*)'", self.script)[1]

    def change(self, setting: str, value: str) -> None:
        """Says something else than the stub did."""
        line = re.compile(f"^export {setting}=.*$", re.MULTILINE)
        assert line.search(self.script)
        self.script = line.sub(f"export {setting}='{value}'", self.script)

    def kept(self):
        files = [path for path in (self.store / "kept").rglob("*") if path.is_file()]
        return {path.name: path.read_text() for path in files}


class Server(Stock):
    def __init__(self, cloud, name):
        super().__init__(cloud.folder / name, cloud.store, without=WITHOUT)
        self.write("/root/boot", cloud.script, 0o700)
        self.run("mkdir", "-p", "/dev/disk/by-id", "/var/lib/postgresql").check_returncode()
        if cloud.disk:
            self.run("mknod", cloud.disk, "b", "7", "0").check_returncode()
        mounted = ["/usr/bin/mount", "--bind", "/store/postgresql", "/var/lib/postgresql"]
        self.run(*mounted).check_returncode()

    def boot(self):
        done = self.run("/root/boot")
        assert done.returncode == 0, done.stdout
        return done.stdout

    def ask(self, query):
        words = ["runuser", "-u", "tidemill", "--", "psql", "-qAt", "-h", "/run/postgresql"]
        return self.run(*words, "-d", "tidemill", "-c", query).stdout.strip()
