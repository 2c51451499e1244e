#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A render farm: each scene is fetched from a store, rendered, and its image stored.

usage: render.py STORE LIST [--image IMAGE] [--python PROGRAM]

STORE is s3://bucket/films, gs://..., or file:///... that the machines see (tidemill-agent --files).
LIST is a file with the names of scenes, one a line: STORE/scenes/NAME becomes STORE/images/STEM.ppm
"""

import argparse
import pathlib
import sys

import tidemill

HERE = pathlib.Path(__file__).parent


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("--image", default="")
    parser.add_argument("--python", default="python3")
    flags = parser.parse_args()

    scenes = flags.list.read_text().splitlines()
    spec = {
        "name": "render",
        "command": [flags.python, "render_scene.py", "{input}", "{output}"],
        "input": flags.store + "/scenes/{item}",
        "output": flags.store + "/images/{item.stem}.ppm",
        "output_exists": "replace",
        "resources": {"cpus": 1, "memory": "128MiB"},
        "timeout": "5m",
        "retries": 1,
        **({"image": flags.image} if flags.image else {}),
    }
    job = tidemill.submit(spec, scenes, files={"render_scene.py": HERE / "render_scene.py"})
    status = job.wait()
    for group in job.failures():
        print(f"{group.count} scenes: {group.signature}", file=sys.stderr)
    print(f"{status.counts.succeeded} of {len(scenes)} scenes are rendered")


if __name__ == "__main__":
    main()
