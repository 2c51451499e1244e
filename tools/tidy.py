#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small rules that no compiler knows. Prints one line for each place that breaks one.

usage: tidy.py [ROOT]
"""

import os
import pathlib
import re
import sys

COLUMNS_MAX = 100
HEADER_LINES_MAX = 300
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
# Functions that were longer when the rule came: "path:name" -> lines. A number may only fall.
RATCHET = {}

SKIP_FOLDERS = {".git", "build", "node_modules", "__pycache__", ".venv", ".cache"}
CODE_SUFFIXES = {".h", ".cc", ".py", ".sh", ".cmake", ".sql"}
CODE_NAMES = {"CMakeLists.txt", "aarch64", "fmt", "fuzz", "run"}  # scripts without a suffix

# Deciding code gets time, randomness and settings as arguments. Only these folders touch the world.
WORLD_FOLDERS = {"base", "net", "cmd"}
WORLD = re.compile(
    r"system_clock::now|steady_clock::now|\bsleep_for\b|\brandom_device\b|\bgetenv\b"
    r"|std::j?thread\b(?!::id)"
)
USING = re.compile(r"\busing\s+namespace\s+([\w:]+)")
OPEN_TASK = re.compile(r"\bTODO\b(?!\(#\d+\))")  # TODO(#12) has an issue

LITERALS = re.compile(
    r'R"([^(\s"]*)\(.*?\)\1"'  # raw string
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"  # not the ' in 1'000
    r"|//[^\n]*|/\*.*?\*/"
    r"|^[ \t]*#(?:\\\n|[^\n])*",  # preprocessor
    re.DOTALL | re.MULTILINE,
)
NOT_A_FUNCTION = re.compile(
    r"^\s*(?:template\s*<[^{}]*>\s*)?(?:inline\s+)?(?:namespace|class|struct|union|enum)\b|=\s*$"
)


def without_literals(text):
    """The code without strings, comments and preprocessor lines; line numbers stay."""
    return LITERALS.sub(lambda m: '""' * (m[0][0] in "R\"'") + "\n" * m[0].count("\n"), text)


def functions(text):
    """Yields (name, first line, lines) by counting braces: an estimate that is good enough."""
    depth_of_function = None
    depth, head, line = 0, "", 1
    head_line, name, start = 1, "", 1
    for char in without_literals(text):
        if char == "\n":
            line += 1
        if char == "{":
            if depth_of_function is None and "(" in head and not NOT_A_FUNCTION.search(head):
                depth_of_function, start = depth, head_line
                name = re.sub(r"\s+", " ", head.partition("(")[0]).split(" ")[-1]
                if name.startswith(("TEST", "RC_GTEST")):
                    name = re.sub(r"\s+", "", head).partition(")")[0] + ")"
            depth, head = depth + 1, ""
        elif char == "}":
            depth, head = depth - 1, ""
            if depth == depth_of_function:
                depth_of_function = None
                yield name, start, line - start + 1
        elif char == ";":
            head = ""
        else:
            if not head.strip():
                head_line = line
            head += char


def check_functions(path, text):
    for name, start, lines in functions(text):
        limit = RATCHET.get(f"{path}:{name}", FUNCTION_LINES_MAX)
        if lines > limit:
            yield start, f"{name} has {lines} lines, more than {limit}"
        elif f"{path}:{name}" in RATCHET and lines < limit:
            yield start, f"{name} has only {lines} lines now: lower its number in RATCHET"


def check_cpp(path, text):
    parts = pathlib.PurePosixPath(path).parts
    is_test = re.search(r"_(test|fuzz)\.cc$|_contract\.h$", path) or parts[0] != "src"
    in_world = parts[0] == "src" and parts[1] in WORLD_FOLDERS
    for number, line in enumerate(without_literals(text).splitlines(), 1):
        found = WORLD.search(line)
        if found and not is_test and not in_world:
            yield number, f"{found[0]}: only base/, net/ and cmd/ may; take it as an argument"
        found = USING.search(line)
        # Literal operators cannot be had otherwise; in a header they would reach everybody.
        if found and not (found[1].endswith("literals") and path.endswith(".cc")):
            yield number, f"using namespace {found[1]}"
    if path.endswith(".h"):
        if not re.search(r"^#pragma once$", text, re.MULTILINE):
            yield 1, "no #pragma once"
        if text.count("\n") > HEADER_LINES_MAX:
            yield 1, f"a header of {text.count(chr(10))} lines, more than {HEADER_LINES_MAX}"
    yield from check_functions(path, text)


def check_code(path, text):
    lines = text.splitlines()
    if not path.endswith(".sql") and not any("SPDX-License-Identifier:" in s for s in lines[:3]):
        yield 1, "no SPDX line"
    if len(lines) > FILE_LINES_MAX:
        yield 1, f"{len(lines)} lines, more than {FILE_LINES_MAX}"
    # This file and its test name the words they forbid.
    names_words = path in {"tools/tidy.py", "tests/tools/test_tools.py"}
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            yield number, "a tab"
        if len(line) > COLUMNS_MAX:
            yield number, f"{len(line)} columns, more than {COLUMNS_MAX}"
        if "FIXME" in line and not names_words:
            yield number, "FIXME"
        if OPEN_TASK.search(line) and not names_words:
            yield number, "TODO without an issue: write TODO(#12)"


def check_markdown(_path, text):
    fence, titles = False, 0
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fence = not fence
        elif not fence and line.startswith("# "):
            titles += 1
    if titles != 1:
        yield 1, f"{titles} titles, not one"


def rules_of(path):
    name = path.name
    if path.suffix in {".h", ".cc"}:
        return [check_code, check_cpp]
    if path.suffix in CODE_SUFFIXES or name in CODE_NAMES:
        return [check_code]
    return [check_markdown] if path.suffix == ".md" else []


def check(root):
    """All complaints about a tree, as lines of text."""
    complaints = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIP_FOLDERS)
        for name in sorted(names):
            path = pathlib.Path(folder) / name
            rules = rules_of(path)
            if not rules or path.is_symlink():
                continue
            relative, text = path.relative_to(root).as_posix(), path.read_text()
            for rule in rules:
                for number, message in rule(relative, text):
                    complaints.append(f"{relative}:{number}: {message}")
    return complaints


def main():
    complaints = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
