#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A parameter sweep: how far does a ball fly, by angle and speed, through air?

usage: sweep.py [--image IMAGE] [--python PROGRAM]
"""

import argparse
import itertools
import math

import tidemill


def flight(throw):
    """The distance in metres, in steps of a millisecond."""
    angle, speed = throw
    if speed <= 0:
        raise ValueError(f"nobody throws at {speed} m/s")
    x, y = 0.0, 1.5
    vx, vy = speed * math.cos(math.radians(angle)), speed * math.sin(math.radians(angle))
    while y > 0:
        drag = 0.005 * math.hypot(vx, vy)
        vx, vy = vx - drag * vx * 0.001, vy - (9.81 + drag * vy) * 0.001
        x, y = x + vx * 0.001, y + vy * 0.001
    return round(x, 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--image", default="")
    parser.add_argument("--python", default="python3")
    flags = parser.parse_args()

    throws = list(itertools.product(range(10, 80, 5), (0, 10, 20, 30, 40)))
    flights = tidemill.map(
        flight, throws, image=flags.image, python=flags.python, cpus=0.5, retries=0, canary=0
    )
    best = {}
    for (angle, speed), found in zip(throws, flights):
        if isinstance(found, tidemill.Failure):
            print(f"{speed} m/s at {angle} degrees: {found.error.splitlines()[-1]}")
        elif found > best.get(speed, (0, 0))[0]:
            best[speed] = (found, angle)
    for speed, (distance, angle) in sorted(best.items()):
        print(f"{speed} m/s: {distance} m, at {angle} degrees")


if __name__ == "__main__":
    main()
