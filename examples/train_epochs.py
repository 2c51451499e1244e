# SPDX-License-Identifier: Apache-2.0
"""Fits a line to noisy points by gradient descent, an epoch at a time.

usage: train_epochs.py SEED EPOCHS
"""

import json
import random
import sys
import time

import tidemill

seed, epochs = int(sys.argv[1]), int(sys.argv[2])
random.seed(seed)
points = [(x / 100, 3 * x / 100 + 1 + random.gauss(0, 0.1)) for x in range(100)]

saved = tidemill.checkpoint.read()
state = json.loads(saved.decode()) if saved else {"epoch": 0, "slope": 0.0, "offset": 0.0}
print("goes on" if saved else "begins", "at epoch", state["epoch"])

while state["epoch"] < epochs:
    for _ in range(100):
        errors = [(state["slope"] * x + state["offset"] - y, x) for x, y in points]
        state["slope"] -= 0.5 * sum(error * x for error, x in errors) / len(points)
        state["offset"] -= 0.5 * sum(error for error, _ in errors) / len(points)
    state["epoch"] += 1
    time.sleep(0.2)  # a model worth its machine takes longer than this one
    tidemill.checkpoint.write(json.dumps(state).encode())
    tidemill.progress(state["epoch"] / epochs, "epoch %d" % state["epoch"])

print("y = %.1f x + %.1f" % (state["slope"], state["offset"]))
