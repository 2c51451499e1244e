#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds src/ against src/MODULES. Prints one line for each include that the table forbids, and for
each class that stands in two headers under one name: a program with both would mix them up without
a word from the compiler or the linker.

usage: modules.py [ROOT]
"""

import pathlib
import re
import sys

# A foreign library stands behind one module; nobody else, not even a test, includes it.
ONLY = {
    "boost/": "net",
    "libpq-fe.h": "store/postgres",
    "nlohmann/": "wire",
    "CLI/": "cmd",
    "yaml-cpp/": "yaml",
    "pugixml.hpp": "cloud",
}
NAME = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)*")
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')

NAMESPACE = re.compile(r"namespace ([a-z_:]+) \{")
CLASS = re.compile(r"(?:class|struct) ([A-Z]\w*)(?: final)?(?: :[^;]*)? \{")


class TableError(Exception):
    pass


def read_modules(text):
    """The table as a dict: module -> the modules it may include, in the order of the file."""
    modules = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        module, colon, others = line.partition(":")
        module = module.strip()
        if not colon or not NAME.fullmatch(module):
            raise TableError(f"MODULES:{number}: '{line}' is not 'module: other modules'")
        if module in modules:
            raise TableError(f"MODULES:{number}: {module} stands here twice")
        names = others.split()
        # Every module names only modules above it, so a circle cannot be written down.
        late = [name for name in names if name != "*" and name not in modules]
        if late:
            raise TableError(
                f"MODULES:{number}: {module} names {' '.join(late)}, not above it: "
                "an unknown module or a circle"
            )
        modules[module] = set(modules) if "*" in names else set(names)
    return modules


def module_of(folder, modules):
    """The longest module that holds the folder: store/postgres before store."""
    holders = (m for m in modules if f"{folder}/".startswith(f"{m}/"))
    return max(holders, key=len, default=None)


def may_include(here, there, is_test, modules):
    if there == here or there in modules[here]:
        return True
    if not is_test:
        return False
    # A test may use the fakes, and whatever stands above its module.
    order = list(modules)
    fake = there.endswith(("/memory", "/fake")) or there == "report"
    return fake or order.index(there) < order.index(here)


def check_file(path, src, modules):
    """Yields (line number, message)."""
    here = module_of(path.parent.relative_to(src).as_posix(), modules)
    if here is None:
        yield 1, f"{path.parent.relative_to(src)} is in no module of MODULES"
        return
    is_test = path.stem.endswith(("_test", "_fuzz"))
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, name = match.groups()
        for foreign, owner in ONLY.items():
            if name.startswith(foreign) and here != owner:
                yield number, f"only {owner} may include {name}, not {here}"
        if quote == "<":
            continue
        if "/" not in name:
            yield number, f'write "{name}" with its path from src/'
            continue
        folder = name.rpartition("/")[0]
        there = module_of(folder, modules)
        if there is None:
            yield number, f"{folder} is in no module of MODULES"
        elif not may_include(here, there, is_test, modules):
            yield number, f"{here} may not include {there}"


def classes_of(path):
    """Yields (line number, full name) of what a header defines at the top of a namespace."""
    space = ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := NAMESPACE.match(line):
            space = match.group(1)
        elif match := CLASS.match(line):
            yield number, f"{space}::{match.group(1)}"


def check_classes(src):
    """Yields (path, line number, message). Two headers of tests are never in one program."""
    first = {}
    for path in sorted(src.rglob("*.h")):
        if path.stem.endswith(("_test", "_testing")):
            continue
        for number, name in classes_of(path):
            other = first.setdefault(name, path)
            if other != path:
                yield path, number, f"{name} stands in {other.relative_to(src)}, too"


def check(root):
    """All complaints about a tree, as lines of text."""
    src = pathlib.Path(root) / "src"
    try:
        modules = read_modules((src / "MODULES").read_text())
    except TableError as error:
        return [f"src/{error}"]
    complaints = []
    for path in sorted(p for p in src.rglob("*") if p.suffix in {".h", ".cc"}):
        for number, message in check_file(path, src, modules):
            complaints.append(f"{path.relative_to(root)}:{number}: {message}")
    for path, number, message in check_classes(src):
        complaints.append(f"{path.relative_to(root)}:{number}: {message}")
    return complaints


def main():
    complaints = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
