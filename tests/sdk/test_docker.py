# SPDX-License-Identifier: Apache-2.0
"""Functions in containers, of an image that has Python and knows nothing of tidemill."""

import sys

import python_image
import tidemill


def test_a_map_runs_in_containers(env, docker, fleet, monkeypatch):
    server = env.server(*env.objects_flags)
    fleet("machine", "--cpus", "2")
    monkeypatch.setenv("TIDEMILL_SERVER", server.url)
    monkeypatch.setenv("TIDEMILL_TOKEN", server.token)

    def where(number):
        import os
        import platform

        return number, platform.python_version(), sorted(os.listdir("/"))

    mapped = tidemill.map(where, range(40), image=python_image.NAME, cpus=1, memory="128MiB")
    found = list(mapped)
    assert [each[0] for each in found] == list(range(40)), found[0]
    version = "%d.%d.%d" % sys.version_info[:3]
    assert {each[1] for each in found} == {version}
    assert "tmp" in found[0][2] and "home" not in found[0][2], "it is the image's own root"

    (failure,) = tidemill.map(
        lambda _: 0, [1], image=python_image.NAME, python="python9", memory="128MiB", retries=0
    )
    assert failure.cause == "failed" and "python9" in failure.logs()
