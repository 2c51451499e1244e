# SPDX-License-Identifier: Apache-2.0
"""Renders one scene: spheres before a sky, lit from above, by casting a ray for each pixel.

usage: render_scene.py SCENE.json IMAGE.ppm
"""

import json
import math
import sys


def nearest(spheres, ray):
    """Which sphere a ray from the eye meets first, and how far away."""
    found = None
    for sphere in spheres:
        centre, radius = sphere["centre"], sphere["radius"]
        along = sum(c * r for c, r in zip(centre, ray))
        gap = along * along - sum(c * c for c in centre) + radius * radius
        if gap < 0 or along - math.sqrt(gap) <= 0:
            continue
        distance = along - math.sqrt(gap)
        if found is None or distance < found[0]:
            found = (distance, sphere)
    return found


def colour(spheres, ray):
    hit = nearest(spheres, ray)
    if hit is None:
        return [int(255 * (0.6 + 0.4 * max(0.0, ray[1])))] * 3
    distance, sphere = hit
    up = (distance * ray[1] - sphere["centre"][1]) / sphere["radius"]
    return [int(each * (0.3 + 0.7 * max(0.0, up))) for each in sphere["colour"]]


def main():
    with open(sys.argv[1]) as file:
        scene = json.load(file)
    width, height = scene["width"], scene["height"]
    pixels = bytearray()
    for y in range(height):
        for x in range(width):
            ray = [(2 * x - width) / height, (height - 2 * y) / height, 2.0]
            length = math.sqrt(sum(each * each for each in ray))
            pixels.extend(colour(scene["spheres"], [each / length for each in ray]))
    with open(sys.argv[2], "wb") as file:
        file.write(b"P6 %d %d 255\n" % (width, height))
        file.write(pixels)


if __name__ == "__main__":
    main()
