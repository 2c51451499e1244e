# SPDX-License-Identifier: Apache-2.0
"""OCI bundles, and a machine whose accelerators are nodes of real drivers under other names."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
from typing import Any, Dict, List, Sequence

from env import binaries

APPLETS = "sh cat dd echo env id ls stat true sleep readlink".split()
# What drivers there are: name -> type, major, minor. No runtime lets containers use loop devices.
DRIVERS = {
    "accel0": (stat.S_IFCHR, 1, 5),
    "accel1": (stat.S_IFCHR, 1, 3),
    "accel2": (stat.S_IFCHR, 1, 7),
    "ruled": (stat.S_IFBLK, 7, 0),
    "unruled": (stat.S_IFBLK, 7, 1),
}
# crun knows no machine with both versions of control groups, which ours may be.
LEGACY = ["unshare", "--mount", "--propagation", "private", "sh", "-c"]
LEGACY += ['umount /sys/fs/cgroup/unified 2> /dev/null; exec "$@"', "sh"]
LOOK = """
for f in /dev/*; do stat -c '%n %F %t:%T %a %u:%g' $f; done; echo --
cat /proc/mounts; echo --
env; echo --
id -G
"""


class Seen:
    """What a container sees of itself."""

    def __init__(self, text: str) -> None:
        parts = [part.strip().splitlines() for part in text.split("--\n")]
        self.nodes, self.mounts, self.variables = map(set, parts[:3])
        self.groups = set(parts[3][0].split())

    def more_than(self, other: "Seen") -> Dict[str, List[str]]:
        return {name: sorted(getattr(self, name) - getattr(other, name)) for name in self.__dict__}


class Machine:
    """CDI folder, config file and nodes in a folder; runs bundles with tidemill-runtime."""

    def __init__(self, folder: pathlib.Path, runtime: str = "runc") -> None:
        self.folder, self.runtime = folder, runtime
        self.cdi, self.dev = folder / "cdi", folder / "dev"
        self.log = folder / "runtime.log"
        for each in (self.cdi, self.dev):
            each.mkdir()
        for name, (kind, major, minor) in DRIVERS.items():
            os.mknod(self.dev / name, kind, os.makedev(major, minor))
            (self.dev / name).chmod(0o666)
        self.config = folder / "runtime.yaml"
        self.configure()
        self._count = 0

    def configure(self, **more: Any) -> None:
        fields = {
            "runtimes": [self.runtime],
            "cdi-folders": [str(self.cdi)],
            "log": str(self.log),
            **{name.replace("_", "-"): value for name, value in more.items()},
        }
        self.config.write_text(json.dumps(fields))

    def spec(self, devices: Dict[str, Dict], kind: str = "example.com/accel", edits=None) -> None:
        listed = [{"name": name, "containerEdits": each} for name, each in devices.items()]
        text = {"cdiVersion": "0.7.0", "kind": kind, "devices": listed}
        if edits:
            text["containerEdits"] = edits
        (self.cdi / f"{kind.replace('/', '-')}.json").write_text(json.dumps(text))

    def node(self, name: str, **more: Any) -> Dict:
        """A node at /dev/NAME in the container."""
        return {"path": f"/dev/{name}", "hostPath": str(self.dev / name), **more}

    def bundle(self, *command: str, env: Sequence[str] = (), annotations=None) -> "Bundle":
        self._count += 1
        return Bundle(self, self.folder / f"bundle{self._count}", command, env, annotations)

    @property
    def environment(self) -> Dict[str, str]:
        return {**os.environ, "TIDEMILL_RUNTIME_CONFIG": str(self.config)}

    def ours(self, *words: str, **more: Any) -> subprocess.CompletedProcess:
        return self._run(str(binaries() / "tidemill-runtime"), *words, **more)

    def plain(self, *words: str, **more: Any) -> subprocess.CompletedProcess:
        """The runtime below alone."""
        return self._run(str(shutil.which(self.runtime)), *words, **more)

    def _run(self, program: str, *words: str, **more: Any) -> subprocess.CompletedProcess:
        more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        command = [*LEGACY, program, "--root", str(self.folder / "state"), *words]
        return subprocess.run(command, env=self.environment, text=True, timeout=120, **more)


class Bundle:
    def __init__(self, machine: Machine, path: pathlib.Path, command, env, annotations) -> None:
        self.machine, self.path, self.id = machine, path, f"{machine.folder.name}-{path.name}"
        self.root = path / "rootfs"
        for name in ("bin", "dev", "proc", "sys", "tmp", "etc"):
            (self.root / name).mkdir(parents=True)
        shutil.copy(str(shutil.which("busybox")), self.root / "bin/busybox")
        for applet in APPLETS:
            (self.root / "bin" / applet).symlink_to("busybox")
        subprocess.run(["runc", "spec"], cwd=path, check=True)
        config = json.loads(self.config.read_text())
        config["process"].update(terminal=False, args=list(command))
        config["process"]["env"] += list(env)
        config["root"]["readonly"] = False
        config["linux"]["cgroupsPath"] = f"/tidemill-test/{self.id}"
        # It would show which groups there are by chance.
        config["mounts"] = [m for m in config["mounts"] if m["type"] != "cgroup"]
        if annotations:
            config["annotations"] = annotations
        self.config.write_text(json.dumps(config))

    @property
    def config(self) -> pathlib.Path:
        return self.path / "config.json"

    def change(self, change) -> "Bundle":
        config = json.loads(self.config.read_text())
        change(config)
        self.config.write_text(json.dumps(config))
        return self

    def run(self, *flags: str) -> subprocess.CompletedProcess:
        return self.machine.ours(*flags, "run", "--bundle", str(self.path), self.id)

    def output(self) -> str:
        done = self.run()
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def plain(self) -> str:
        done = self.machine.plain("run", "--bundle", str(self.path), self.id)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout
