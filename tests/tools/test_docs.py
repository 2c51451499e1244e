# SPDX-License-Identifier: Apache-2.0
"""Names in the documentation stand for something: tests, functions, files."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of clouds, not of ours; and examples.
FOREIGN = {"CreateServiceLinkedRole"}
EXAMPLES = {"src/cmd/tidemill_x.cc", "src/store/postgres/migrations/0001_name.sql"}
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/README.md")])


def quoted(page):
    """What stands between single backticks, outside of blocks of code."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`([^`\n]+)`", text)


@pytest.fixture(scope="module")
def words():
    """All identifiers of sources and tests."""
    found = set(FOREIGN)
    for folder, pattern in (("src", "*.cc"), ("src", "*.h"), ("tests", "*.py"), ("tools", "*.py")):
        for path in (ROOT / folder).rglob(pattern):
            found.update(re.findall(r"\w+", path.read_text()))
    found.update(path.name for path in (ROOT / "tests").rglob("*.py"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_of_tests_and_types_exist(page, words):
    names = [re.fullmatch(r"(test_\w+(\.py)?|([A-Z][a-z0-9]+){3,})", text) for text in quoted(page)]
    assert [each[0] for each in names if each and each[0] not in words] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_files_exist(page):
    paths = [
        text for text in quoted(page) if re.fullmatch(r"(src|tests|tools|docs)/[\w./*-]+", text)
    ]
    paths = set(paths) - EXAMPLES
    assert [path for path in paths if not list(ROOT.glob(path.rstrip("/")))] == []
