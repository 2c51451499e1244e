#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training that survives: an item whose machine is taken away goes on elsewhere, where it was.

usage: train.py [--image IMAGE] [--python PROGRAM] [--seeds N] [--epochs N]
"""

import argparse
import pathlib

import tidemill

HERE = pathlib.Path(__file__).parent


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--image", default="")
    parser.add_argument("--python", default="python3")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=20)
    flags = parser.parse_args()

    spec = {
        "name": "train",
        "command": [flags.python, "-u", "train_epochs.py", "{index}", str(flags.epochs)],
        "checkpoint": {"every": "2s"},
        "resources": {"cpus": 1, "memory": "128MiB"},
        **({"image": flags.image} if flags.image else {}),
    }
    job = tidemill.submit(spec, flags.seeds, files={"train_epochs.py": HERE / "train_epochs.py"})
    print(f"{job.id} is submitted", flush=True)
    job.wait()
    for seed in range(flags.seeds):
        print(f"seed {seed}: {job.logs(seed).splitlines()[-1]}")


if __name__ == "__main__":
    main()
