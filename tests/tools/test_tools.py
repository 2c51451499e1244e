# SPDX-License-Identifier: Apache-2.0
"""Shows each rule of tools/ red on a toy tree, and the toy tree green without the fault."""

import pathlib
import subprocess
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

import modules  # noqa: E402
import tidy  # noqa: E402

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
HEADER = SPDX + "#pragma once\n"
TABLE = """# comment
base:
net: base   # sockets
model: base
wire: model base
store: model base
store/memory: store model base
store/postgres: store model base
report: model base
server: store report model base
cmd: *
"""


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def include(name):
    return SPDX + f"#include {name}\n"


@pytest.fixture
def tree(tmp_path):
    write(
        tmp_path,
        {
            "src/MODULES": TABLE,
            "src/base/a.h": HEADER,
            "src/net/n.cc": include("<boost/asio.hpp>"),
            "src/wire/w.cc": include("<nlohmann/json.hpp>"),
            "src/store/store.h": HEADER + '#include "model/m.h"\n#include <vector>\n',
            "src/store/postgres/p.cc": include("<libpq-fe.h>"),
            "src/cmd/main.cc": include("<CLI/CLI.hpp>") + '#include "server/s.h"\n',
            "README.md": "# Toy\n\n```\n# not a title\n```\n",
        },
    )
    return tmp_path


def test_a_good_tree_has_no_complaints(tree):
    assert modules.check(tree) == []
    assert tidy.check(tree) == []


@pytest.mark.parametrize(
    "name, text, complaint",
    [
        ("src/model/m.cc", include('"store/store.h"'), ":2: model may not include store"),
        ("src/store/s.cc", include('"store/memory/m.h"'), "store may not include store/memory"),
        ("src/store/memory/m.cc", include('"store/postgres/p.h"'), "may not include"),
        ("src/model/m.cc", include('"nowhere/x.h"'), "nowhere is in no module"),
        ("src/model/m.cc", include('"m.h"'), "with its path from src/"),
        ("src/orphan/o.cc", SPDX, "orphan is in no module"),
        ("src/base/a.cc", include("<boost/asio.hpp>"), "only net may include"),
        ("src/store/memory/m.cc", include("<libpq-fe.h>"), "only store/postgres may include"),
        ("src/server/s.cc", include("<nlohmann/json.hpp>"), "only wire may include"),
        ("src/server/s.cc", include("<CLI/CLI.hpp>"), "only cmd may include"),
        ("src/store/s_test.cc", include('"server/s.h"'), "store may not include server"),
    ],
)
def test_modules_refuses(tree, name, text, complaint):
    write(tree, {name: text})
    complaints = modules.check(tree)
    assert len(complaints) == 1
    assert complaints[0].startswith(name)
    assert complaint in complaints[0]


@pytest.mark.parametrize(
    "name, text",
    [
        ("src/store/s_test.cc", include('"store/memory/m.h"')),
        ("src/model/m_test.cc", include('"report/r.h"')),
        ("src/store/postgres/p_test.cc", include('"wire/w.h"')),
        ("src/wire/w_fuzz.cc", include('"net/n.h"')),
        ("src/store/memory/deep/d.cc", include('"store/memory/m.h"')),
    ],
)
def test_modules_allows(tree, name, text):
    write(tree, {name: text})
    assert modules.check(tree) == []


def test_modules_refuses_one_name_for_two_classes(tree):
    (tree / "src/base/one.h").write_text("namespace tidemill {\nclass Room {\n};\n}\n")
    (tree / "src/base/two.h").write_text("namespace tidemill {\nstruct Room : X {\n};\n}\n")
    (tree / "src/base/far.h").write_text("namespace tidemill::far {\nstruct Room {\n};\n}\n")
    assert modules.check(tree) == ["src/base/two.h:2: tidemill::Room stands in base/one.h, too"]


@pytest.mark.parametrize(
    "table, complaint",
    [
        ("base:\nmodel: bse\n", "MODULES:2: model names bse"),
        ("a: b\nb: a\n", "MODULES:1: a names b"),
        ("a: a\n", "a circle"),
        ("base:\nbase:\n", "twice"),
        ("base\n", "is not 'module: other modules'"),
    ],
)
def test_modules_refuses_a_table(tree, table, complaint):
    write(tree, {"src/MODULES": table})
    assert complaint in modules.check(tree)[0]


def long_function(lines, head="int Long(int a)"):
    return head + " {\n" + "  Call(\"}}\", '}', 1'000);  // }\n" * (lines - 2) + "}\n"


@pytest.mark.parametrize(
    "name, text, complaint",
    [
        ("src/model/m.cc", SPDX + "auto t = std::chrono::system_clock::now();\n", "system_clock"),
        ("src/model/m.cc", SPDX + "auto t = std::chrono::steady_clock::now();\n", "steady_clock"),
        ("src/model/m.cc", SPDX + "void F() { std::this_thread::sleep_for(x); }\n", "sleep_for"),
        ("src/model/m.cc", SPDX + "std::random_device d;\n", "random_device"),
        ("src/model/m.cc", SPDX + 'auto h = getenv("HOME");\n', "getenv"),
        ("src/model/m.cc", SPDX + "std::thread t;\n", "std::thread"),
        ("src/model/m.cc", SPDX + "std::jthread t;\n", "std::jthread"),
        ("src/base/a.cc", SPDX + "// FIXME\n", "FIXME"),
        ("src/base/a.cc", SPDX + "// TODO: later\n", "TODO without an issue"),
        ("src/base/a.cc", SPDX + "using namespace std;\n", "using namespace std"),
        ("src/base/b.h", HEADER + "using namespace std::literals;\n", "using namespace"),
        ("src/base/a.cc", "int a;\n", "no SPDX line"),
        ("tools/x.py", "a = 1\n", "no SPDX line"),
        ("src/base/b.h", SPDX, "no #pragma once"),
        ("src/base/a.cc", SPDX + "\tint a;\n", ":2: a tab"),
        ("src/base/a.cc", SPDX + "// " + "x" * 98 + "\n", "101 columns"),
        ("src/store/postgres/migrations/0001_a.sql", "-- " + "x" * 98 + "\n", "101 columns"),
        ("src/base/b.h", HEADER + "\n" * 299, "a header of 301 lines"),
        ("src/base/a.cc", SPDX + "\n" * 600, "601 lines"),
        ("src/base/a.cc", SPDX + long_function(71), ":2: Long has 71 lines"),
        ("src/base/a.cc", SPDX + long_function(71, "namespace t {\nLong::Long() : a_(1)"), "Long"),
        ("src/base/a_test.cc", SPDX + long_function(71, "TEST(A, B)"), "TEST(A,B) has 71"),
        ("docs/x.md", "no title\n", "0 titles"),
        ("docs/x.md", "# One\n# Two\n", "2 titles"),
    ],
)
def test_tidy_refuses(tree, name, text, complaint):
    write(tree, {name: text})
    complaints = tidy.check(tree)
    assert len(complaints) == 1, complaints
    assert complaints[0].startswith(name)
    assert complaint in complaints[0]


@pytest.mark.parametrize(
    "name, text",
    [
        ("src/net/n.cc", SPDX + "auto t = std::chrono::steady_clock::now();\n"),
        ("src/cmd/main.cc", SPDX + 'auto h = getenv("HOME");\n'),
        ("src/model/m_test.cc", SPDX + "std::thread t;\n"),
        ("src/model/m.cc", SPDX + "// unlike steady_clock::now, this is an argument\n"),
        ("src/model/m.cc", SPDX + "// TODO(#12): more\n"),
        ("src/model/m.cc", SPDX + "std::thread::id owner;\n"),
        ("src/model/m.cc", SPDX + "using namespace std::chrono_literals;\n"),
        ("src/model/m.cc", SPDX + long_function(70)),
        ("src/model/m.cc", SPDX + long_function(99, "namespace a")),
        ("src/model/m.cc", SPDX + long_function(99, "class A")),
        ("src/model/m.cc", SPDX + "int t[] = {\n" + "  Call(),\n" * 99 + "};\n"),
        ("src/model/m.cc", SPDX + 'auto s = R"x({\n' + "{\n" * 99 + ')x";\nint F() {}\n'),
        ("src/model/m.cc", SPDX + "#define A(x) {\nint F() {}\n"),
        ("build/x/y.cc", "\t\n"),
    ],
)
def test_tidy_allows(tree, name, text):
    write(tree, {name: text})
    assert tidy.check(tree) == []


def test_the_ratchet_lets_a_long_function_stay_but_not_grow_nor_keep_its_slack(tree, monkeypatch):
    monkeypatch.setitem(tidy.RATCHET, "src/model/m.cc:Long", 90)
    write(tree, {"src/model/m.cc": SPDX + long_function(90)})
    assert tidy.check(tree) == []
    write(tree, {"src/model/m.cc": SPDX + long_function(91)})
    assert "91 lines, more than 90" in tidy.check(tree)[0]
    write(tree, {"src/model/m.cc": SPDX + long_function(80)})
    assert "lower its number" in tidy.check(tree)[0]


@pytest.mark.parametrize("tool", ["modules.py", "tidy.py"])
def test_the_exit_code_tells(tree, tool):
    def run():
        return subprocess.run([sys.executable, TOOLS / tool, tree], stdout=subprocess.PIPE)

    assert run().returncode == 0
    write(tree, {"src/model/m.cc": include('"cmd/x.h"') + "using namespace std;\n"})
    assert run().returncode == 1
    assert b"src/model/m.cc" in run().stdout
