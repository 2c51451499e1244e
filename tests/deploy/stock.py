# SPDX-License-Identifier: Apache-2.0
"""Stock machines for tests: this one's disk with a layer above it that takes all writes.

Each is a root of its own, with fakes of what would reach out of it: a package server, a cloud's
programs, systemd. /store is the cloud's side, and is the same for all machines of one cloud.
"""

import pathlib
import shutil
import subprocess

FAKES = pathlib.Path(__file__).resolve().parent / "fakes"
MOUNTS = """set -e
mount -t tmpfs none "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay none -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mkdir -p "$1/root/store" "$1/root/fakes"
mount --bind "$2" "$1/root/store"
mount --bind "$3" "$1/root/fakes"
mount -t tmpfs none "$1/root/tmp"
mount -t tmpfs none "$1/root/run"
mount -t proc none "$1/root/proc"
mount -t tmpfs none "$1/root/dev"
cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty "$1/root/dev"
ln -s /proc/self/fd "$1/root/dev/fd"
ln -s /proc/self/fd/1 "$1/root/dev/stdout"
mkdir -m 1777 "$1/root/dev/shm"
ip link set lo up
echo up
exec cat
"""


class Stock:
    """A machine that has just been started of a stock image. Needs root."""

    def __init__(self, folder: pathlib.Path, store: pathlib.Path, without=()):
        folder.mkdir()
        # Its first process reads from us: when it, or we, have ended, all of it is gone.
        words = ["unshare", "--mount", "--net", "--pid", "--fork", "--"]
        script = ["bash", "-c", MOUNTS, "-", str(folder), str(store), str(FAKES)]
        pipe = subprocess.PIPE
        self.holder = subprocess.Popen([*words, *script], stdin=pipe, stdout=pipe, text=True)
        if self.holder.stdout.readline() != "up\n":
            raise RuntimeError("cannot make a machine: that needs root and overlayfs")
        children = f"/proc/{self.holder.pid}/task/{self.holder.pid}/children"
        self.pid = pathlib.Path(children).read_text().split()[0]
        self.root = folder / "root"
        for path in without:
            self.run("rm", "-rf", path).check_returncode()

    def run(self, *words: str, **settings: str) -> subprocess.CompletedProcess:
        path = "/fakes:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        enter = ["nsenter", "--target", self.pid, "--mount", "--net", "--pid", "--"]
        return subprocess.run(
            [*enter, "chroot", str(self.root), *words],
            env={"PATH": path, "LC_ALL": "C.UTF-8", **settings},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )

    def read(self, path: str) -> str:
        done = self.run("cat", path)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def write(self, path: str, text: str, mode: int) -> None:
        command = f'mkdir -p "$(dirname "$0")" && printf %s "$1" > "$0" && chmod {mode:o} "$0"'
        self.run("sh", "-c", command, path, text).check_returncode()

    def end(self) -> None:
        self.holder.communicate(timeout=60)


def put_bucket(bucket: pathlib.Path, state, kind: str, programs: pathlib.Path) -> None:
    """The objects that Terraform would have stored, by the attribute that has their name."""
    name = {"aws_s3_object": "key", "google_storage_bucket_object": "name"}[kind]
    for each in state.of(kind):
        place = bucket / each[name]
        place.parent.mkdir(parents=True, exist_ok=True)
        if (programs / place.name).exists():
            shutil.copy(programs / place.name, place)
        else:
            place.write_text(each["content"])
