# SPDX-License-Identifier: Apache-2.0
"""Devices of this machine inside an environment's image, by tidemill-runtime below a real Docker
Engine. The framework is a stand-in that counts the nodes it finds: those of test_devices.py."""

import pytest
import test_images
from person import Person
from test_devices import (  # noqa: F401: fixtures
    KIND,
    _cdi,
    _device_engine,
    accelerators,
    docker,
)

TORCH = """\
import glob
print("a greeting on standard output")
__version__ = "9.1"
class cuda:
    device_count = staticmethod(lambda: len(glob.glob("/dev/accel*")))
    get_device_name = staticmethod(lambda number: "Accel %d" % number)
"""
# As it answers where there is no driver.
CUPY = """\
__version__ = "13.0"
class cuda:
    class runtime:
        def getDeviceCount():
            raise RuntimeError("no CUDA-capable device is detected")
"""


@pytest.fixture
def person(tmp_path, docker):  # noqa: F811
    folder = tmp_path / "films"
    folder.mkdir()
    base = test_images.make_python(docker.socket)
    where = "/usr/lib/python3/dist-packages/"
    (folder / "Dockerfile").write_text(f"FROM {base}\nCOPY image/ {where}\n")
    (folder / "image").mkdir()
    (folder / "image" / "torch.py").write_text(TORCH)
    someone = Person(folder, tmp_path / "tidemill")
    someone.env["DOCKER_HOST"] = f"unix://{docker.socket}"
    said = someone("env", "init", "--name", "films")
    assert said.code == 0, said
    return someone


def asked(person, *flags):
    said = person("env", "test", "--json", *flags, timeout_s=300)
    return said.code, said.json() if said.out else said.err


def test_what_frameworks_see_is_said(person, accelerators):  # noqa: F811
    accelerators(2)
    code, said = asked(person)
    assert code == 0, said
    torch = {"name": "torch", "version": "9.1", "devices": [], "why": ""}
    assert said["frameworks"] == [torch] and said["nodes"] == [] and said["unseen"] == []
    assert said["python"].startswith("3.11.") and said["image"].startswith("films:")

    code, said = asked(person, "--device", f"{KIND}=a0,a1")
    assert code == 0, said
    assert said["nodes"] == ["/dev/accel0", "/dev/accel1"]
    assert said["frameworks"][0]["devices"] == ["Accel 0", "Accel 1"]
    said = person("env", "test", "--device", f"{KIND}=a1")
    assert said.code == 0, said
    assert said.out.splitlines()[1:] == [
        "devices /dev/accel1",
        "FRAMEWORK  VERSION  SEES",
        "torch      9.1      Accel 0",
    ]

    # One that is not there, and one that the framework does not see.
    code, said = asked(person, "--device", f"{KIND}=a7")
    assert code == 7 and "a7" in said, said
    (person.folder / "image" / "cupy.py").write_text(CUPY)
    code, said = asked(person)
    assert code == 0 and said["frameworks"][1]["why"].endswith("device is detected"), said
    (person.folder / "image" / "torch.py").write_text("raise ImportError('libcudart.so.12')\n")
    said = person("env", "test", timeout_s=300)
    assert said.code == 1, said
    assert "torch      -        cannot be imported: ImportError: libcudart.so.12" in said.out, said


def test_commands_have_devices_too(person, accelerators):  # noqa: F811
    accelerators(2)
    words = ("sh", "-c", "echo /dev/accel*; head -c 4 /dev/accel1 | wc -c; echo $ACCEL")
    said = person("env", "run", "--device", f"{KIND}=a1", *words, timeout_s=300)
    assert (said.code, said.out) == (0, "/dev/accel1\n4\na1\n"), said
    assert person("env", "run", *words).out.startswith("/dev/accel*\n")
