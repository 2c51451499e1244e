# SPDX-License-Identifier: Apache-2.0
"""A small virtual machine with a kernel of its own, for what this machine's kernel is not.

Debian's cloud kernel, started by qemu without any disk: a root folder in memory with busybox and
what the test brings. It has version 2 of control groups. It is emulated, and boots in five seconds:
where KVM itself runs in a virtual machine, its guests have been seen to stop at their first
`cmpxchg16b` ("KVM internal error: emulation failure") and, with processor models that have no such
instruction, at `xrstor` or before their first line. TIDEMILL_GUEST_ACCEL=kvm is for machines where
KVM works.
"""

import os
import pathlib
import shutil
import socket
import stat
import subprocess
from typing import Dict, List

from env import ends_with_us
from guest_kernel import KERNEL, modules

OVER = "guest: over"
INIT = f"""#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs none /tmp
for module in $(cat /modules/order); do insmod /modules/$module; done
ip link set lo up
ip address add 10.0.2.15/24 dev eth0
ip link set eth0 up
# What a machine's own system does when its power button is pressed: all services are told to go.
mkdir -p /etc/acpi/PWRF
cat > /etc/acpi/PWRF/00000080 << END
#!/bin/sh
echo "guest: button"
kill -TERM \\$(pidof tidemill-agent)
END
chmod 755 /etc/acpi/PWRF/00000080
acpid -f -d > /dev/console 2>&1 &
sh /script
echo "{OVER} $?"
poweroff -f
"""


def _entry(name: str, mode: int, content: bytes, number: int) -> bytes:
    """One file of a cpio archive of the kind 'newc', which the kernel reads."""
    fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    head += b"\0" * (-len(head) % 4)
    return head + content + b"\0" * (-len(content) % 4)


def _archive(files: Dict[str, bytes]) -> bytes:
    folders = {"proc", "sys", "dev", "tmp", "run", "bin", "var", "root"}
    for name in files:
        folders |= {str(parent) for parent in pathlib.PurePath(name).parents if parent.name}
    parts = [
        _entry(name, stat.S_IFDIR | 0o755, b"", n) for n, name in enumerate(sorted(folders), 1)
    ]
    for number, (name, content) in enumerate(files.items(), 1000):
        parts.append(_entry(name, stat.S_IFREG | 0o755, content, number))
    parts.append(_entry("TRAILER!!!", 0, b"", 0))
    return b"".join(parts)


def with_libraries(program: str) -> Dict[str, pathlib.Path]:
    """A program of this machine and what it is linked with, at the paths they have here."""
    found = {program.lstrip("/"): pathlib.Path(program)}
    listed = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    for word in listed.split():
        if word.startswith("/"):
            found[word.lstrip("/")] = pathlib.Path(word)
    return found


def _until_prompt(monitor: socket.socket) -> None:
    said = b""
    while not said.endswith(b"(qemu) "):
        part = monitor.recv(4096)
        assert part, said
        said += part


class Guest:
    """One run of a script in a machine of its own. It ends with the `with` block.

    `ports` are what it reaches of this machine's loopback, by the port at its own loopback. Tests
    run in a network of their own, so there is nothing else to be reached.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        script: str,
        files: Dict[str, pathlib.Path],
        ports: Dict[int, int],
        name: str = "guest",
    ) -> None:
        self.out = folder / f"{name}.out"
        self._monitor = folder / f"{name}.monitor"
        content = {"init": INIT.encode()}
        # The other end of the wire is this machine's loopback.
        passes = [f"nc -ll -p {port} -e nc 10.0.2.2 {there} &" for port, there in ports.items()]
        content["script"] = "\n".join([*passes, script]).encode()
        content["bin/busybox"] = pathlib.Path(shutil.which("busybox") or "").read_bytes()
        content["modules/order"] = "\n".join(path.name for path in modules()).encode()
        for path in modules():
            content[f"modules/{path.name}"] = path.read_bytes()
        for there, path in files.items():
            content[there] = path.read_bytes()
        archive = folder / f"{name}.initramfs"
        archive.write_bytes(_archive(content))
        accel = os.environ.get("TIDEMILL_GUEST_ACCEL", "tcg,thread=multi")
        command = ["qemu-system-x86_64", "-accel", accel, "-cpu", "qemu64", "-m", "3072"]
        command += ["-smp", "2", "-nographic", "-nodefaults", "-serial", "stdio", "-no-reboot"]
        command += ["-monitor", f"unix:{self._monitor},server=on,wait=off"]
        command += ["-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile="]
        command += ["-kernel", str(KERNEL / "vmlinuz"), "-initrd", str(archive)]
        command += ["-append", "console=ttyS0 quiet loglevel=0 panic=-1"]
        with self.out.open("wb") as out:
            self._process = subprocess.Popen(
                ends_with_us(command, "SIGKILL"),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def lines(self) -> List[str]:
        text = self.out.read_bytes().decode(errors="replace")
        return [line.strip() for line in text.splitlines()]

    def must_run(self) -> None:
        assert self._process.poll() is None, "\n".join(self.lines()[-60:])

    def wait(self, timeout_s: float) -> List[str]:
        """Until its script is over; what it printed."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError("\n".join(self.lines()[-60:])) from None
        assert any(line.startswith(OVER) for line in self.lines()), "\n".join(self.lines()[-60:])
        return self.lines()

    def press_power_button(self) -> None:
        """The ACPI event by which a cloud tells a machine to shut down."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(60)
            monitor.connect(str(self._monitor))
            _until_prompt(monitor)
            monitor.sendall(b"system_powerdown\n")
            # What it has not read when the wire is cut is lost.
            _until_prompt(monitor)

    def kill9(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(60)

    def __enter__(self) -> "Guest":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill9()
