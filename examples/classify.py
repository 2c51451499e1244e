#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inference: a small model is trained here, sent with the job, and loaded once in each container.

usage: classify.py [--image IMAGE] [--python PROGRAM] [--items N]
"""

import argparse
import json
import math
import pathlib
import random

import tidemill

HERE = pathlib.Path(__file__).parent
# Digits as a watch shows them: which of the seven bars are lit.
BARS = "abcdef bc abged abgcd fgbc afgcd afgedc abc abcdefg abcdfg".split()
# Where each bar is, in a picture of 5 x 7 pixels: its rows and its columns.
PLACES = {
    "a": ((0,), (1, 2, 3)),
    "b": ((1, 2), (4,)),
    "c": ((4, 5), (4,)),
    "d": ((6,), (1, 2, 3)),
    "e": ((4, 5), (0,)),
    "f": ((1, 2), (0,)),
    "g": ((3,), (1, 2, 3)),
}


def picture(digit, noise):
    """35 pixels between 0 and 1, with noise."""
    pixels = [0.0] * 35
    for bar in BARS[digit]:
        rows, columns = PLACES[bar]
        for place in (5 * row + column for row in rows for column in columns):
            pixels[place] = 1.0
    return [round(min(1.0, max(0.0, pixel + random.gauss(0, noise))), 2) for pixel in pixels]


def train(pictures):
    """Softmax regression by gradient descent: a row of weights, and a bias, for each digit."""
    model = [[0.0] * 36 for _ in range(10)]
    for _ in range(5):
        for digit, pixels in pictures:
            inputs = [*pixels, 1.0]
            scores = [sum(w * x for w, x in zip(row, inputs)) for row in model]
            powers = [math.exp(score - max(scores)) for score in scores]
            for number, row in enumerate(model):
                step = 0.1 * ((number == digit) - powers[number] / sum(powers))
                for place, value in enumerate(inputs):
                    row[place] += step * value
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--image", default="")
    parser.add_argument("--python", default="python3")
    parser.add_argument("--items", type=int, default=200)
    flags = parser.parse_args()

    random.seed(1)
    model = train([(n % 10, picture(n % 10, 0.3)) for n in range(1000)])
    digits = [random.randrange(10) for _ in range(flags.items)]
    spec = {
        "name": "classify",
        "mode": "loop",
        "command": [flags.python, "classify_items.py"],
        "resources": {"cpus": 0.5, "memory": "128MiB"},
        **({"image": flags.image} if flags.image else {}),
    }
    job = tidemill.submit(
        spec,
        ({"pixels": picture(digit, 0.3)} for digit in digits),
        files={
            "classify_items.py": HERE / "classify_items.py",
            "model.json": json.dumps(model).encode(),
        },
    )
    job.wait()
    found = [row.result["digit"] for row in job.results(last=True)]
    right = sum(one == other for one, other in zip(found, digits))
    print(f"{right} of {len(digits)} digits are right")


if __name__ == "__main__":
    main()
