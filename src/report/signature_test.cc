// SPDX-License-Identifier: Apache-2.0
#include "report/signature.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "report/alike.h"

namespace tidemill {
namespace {

std::string Of(std::string_view tail, std::string_view item = "") {
  return SignatureOf({.cause = Cause::kFailed, .exit = 1, .tail = tail, .item = item});
}

struct Case {
  const char* name;
  const char* tail;
  const char* signature;
};

// The last words of real programs, as they were printed.
const Case kReal[] = {
    {"Python", R"(reading
Traceback (most recent call last):
  File "/app/load.py", line 40, in <module>
    load(sys.argv[1])
  File "/app/load.py", line 31, in load
    return open(p).read()
           ^^^^^^^
FileNotFoundError: [Errno 2] No such file or directory: '/data/17.csv'
)",
     "FileNotFoundError: [Errno 2] No such file or directory: '...' at load.py:31"},
    {"PythonInALibrary", R"(Traceback (most recent call last):
  File "/app/j.py", line 3, in f
    return json.loads(s)
           ^^^^^^^^^^^^^
  File "/usr/lib/python3.11/json/decoder.py", line 353, in raw_decode
    obj, end = self.scan_once(s, idx)
               ^^^^^^^^^^^^^^^^^^^^^^
json.decoder.JSONDecodeError: Expecting a name in double quotes: line 1 column 2 (char 1)
)",
     "JSONDecodeError: Expecting a name in double quotes: line # column # (char #) at j.py:3"},
    {"PythonWithACause", R"(Traceback (most recent call last):
  File "/app/j.py", line 5, in <module>
    f("{x")
ValueError: nothing

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/app/j.py", line 7, in <module>
    raise RuntimeError("item 17 is bad") from e
RuntimeError: item 17 is bad
)",
     "RuntimeError: item # is bad at j.py:7"},
    {"PythonSyntax", R"(  File "/app/job.py", line 3
    def f(:
          ^
SyntaxError: invalid syntax
)",
     "SyntaxError: invalid syntax at job.py:3"},
    {"PythonSaysNoMore", R"(Traceback (most recent call last):
  File "x.py", line 9, in <module>
KeyboardInterrupt
)",
     "KeyboardInterrupt at x.py:9"},
    {"Java",
     "Exception in thread \"main\" java.lang.IllegalStateException: item 17\n"
     "\tat Load.main(Load.java:12)\n"
     "Caused by: java.lang.ArrayIndexOutOfBoundsException: Index 5 out of bounds for length 3\n"
     "\tat java.base/java.util.Arrays.check(Arrays.java:120)\n"
     "\tat Load.f(Load.java:31)\n"
     "\t... 1 more\n",
     "ArrayIndexOutOfBoundsException: Index # out of bounds for length # at Load.java:31"},
    {"DotNet",
     R"(Unhandled exception. System.IO.FileNotFoundException: Could not find file '/data/17.csv'.
   at System.IO.FileStream.Open(String path) in /_/src/FileStream.cs:line 60
   at Program.Main(String[] args) in /app/Program.cs:line 31
)",
     "FileNotFoundException: Could not find file '...'. at Program.cs:31"},
    {"Node", R"(node:fs:573
  return binding.open(
                 ^

Error: ENOENT: no such file or directory, open '/data/17.csv'
    at Object.openSync (node:fs:573:18)
    at Object.readFileSync (node:fs:452:35)
    at load (/app/load.js:2:29)
    at Object.<anonymous> (/app/load.js:3:1)
    at Module._compile (node:internal/modules/cjs/loader:1521:14)
    at node:internal/main/run_main_module:28:49 {
  errno: -2,
  code: 'ENOENT',
  path: '/data/17.csv'
}

Node.js v20.20.2
)",
     "Error: ENOENT: no such file or directory, open '...' at load.js:2"},
    {"Go",
     "panic: runtime error: index out of range [5] with length 3\n"
     "\n"
     "goroutine 1 [running]:\n"
     "main.f(...)\n"
     "\t/app/main.go:3\n"
     "main.main()\n"
     "\t/app/main.go:4 +0x14\n"
     "exit status 2\n",
     "panic: runtime error: index out of range [#] with length # at main.go:3"},
    {"GoLog", "2026/11/15 17:57:32 open /data/in/17.csv: no such file or directory\n",
     "open #.csv: no such file or directory"},
    {"Rust", R"(
thread 'main' (25665) panicked at src/main.rs:31:92:
index out of bounds: the len is 1 but the index is 5
stack backtrace:
   0: __rustc::rust_begin_unwind
             at /rustc/59807616e1fa/library/std/src/panicking.rs:689:5
   5: main::main
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.
)",
     "panic: index out of bounds: the len is # but the index is # at main.rs:31"},
    {"RustBefore173", R"(thread 'main' panicked at 'no scene 17', src/main.rs:4:5
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
)",
     "panic: no scene # at main.rs:4"},
    {"RustError", R"(Error: Os { code: 2, kind: NotFound, message: "No such file or directory" })",
     "Error: Os { code: 2, kind: NotFound, message: '...' }"},
    {"Cpp", R"(terminate called after throwing an instance of 'std::runtime_error'
  what():  bad shape (3, 4) in /data/17.npy
run.sh: line 73: 25787 Aborted                 ./t
)",
     "std::runtime_error: bad shape (#) in #.npy"},
    {"Assertion", "t: /src/t.cc:5: int main(int, char**): Assertion `c > 17' failed.\n",
     "t: t.cc:5: int main(int, char**): Assertion '...' failed."},
    {"Sanitizer",
     R"(==25925==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x55
READ of size 4 at 0x602000000010 thread T0
    #0 0x5579717e72ea in main /src/t.cc:5
SUMMARY: AddressSanitizer: heap-use-after-free /src/t.cc:5 in main
==25925==ABORTING
)",
     "AddressSanitizer: heap-use-after-free t.cc:5 in main"},
    {"SanitizerWithoutItsEnd",
     R"(==25925==ERROR: AddressSanitizer: heap-use-after-free on address 0x602
    #0 0x5579717e72ea in main /src/t.cc:5
)",
     "AddressSanitizer: heap-use-after-free at t.cc:5"},
    {"Bash", "/job/run.sh: line 2: ffmpegg: command not found\n",
     "run.sh:2: ffmpegg: command not found"},
    {"Dash", "/job/run.sh: 2: ffmpegg: not found\n", "run.sh:2: ffmpegg: not found"},
    {"Cat", "cat: /data/17.csv: No such file or directory\n",
     "cat: #.csv: No such file or directory"},
    {"Perl", "cannot open: No such file or directory at /app/load.pl line 31.\n",
     "cannot open: No such file or directory at load.pl:31."},
    {"R", R"(Error in file(file, "rt") : cannot open the connection
Calls: read.csv -> read.table -> file
Execution halted
)",
     "Error in file(file, '...') : cannot open the connection"},
    {"ALogLine", "2026-11-15 17:57:32,123 ERROR worker-3: HTTP 503 from 10.0.0.1:5432\ndone\n",
     "ERROR worker-#: HTTP 503 from #"},
    {"Curl", "curl: (22) The requested URL returned error: 404\n",
     "curl: (#) The requested URL returned error: #"},
    {"Make", "x.c:3:5: error: 'foo' undeclared\nmake: *** [Makefile:3: all] Error 1\n",
     "x.c:3: error: '...' undeclared"},
    {"OsError", "Error: cannot read: No such file or directory (os error 2)\n",
     "Error: cannot read: No such file or directory (os error 2)"},
    {"Words", "starting\nbad magic\n", "bad magic"},
    {"InputOutput", "read failed: Input/output error\n", "read failed: Input/output error"},
};

class Real : public testing::TestWithParam<Case> {};
TEST_P(Real, IsKnownBy) { EXPECT_EQ(Of(GetParam().tail), GetParam().signature); }
INSTANTIATE_TEST_SUITE_P(Signature, Real, testing::ValuesIn(kReal),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(SignatureTest, WhatDiffersOnlyByItsItemIsAlike) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"error: at 0x7ffe12ab", "error: at 0xdeadbeef00"},
      {"error: job 550e8400-e29b-41d4-a716-446655440000",
       "error: job 12345678-0000-41d4-a716-000000000000"},
      {"error: sum 9f86d081884c7d65", "error: sum 60303ae22b998861"},
      {"error: took 1.5 s", "error: took 12 s"},
      {"error: x = -3", "error: x = 14"},
      {"error: rows [1, 2, 3]", "error: rows [4, 5]"},
      {"error: s3://b/a/1.jpg is empty", "error: /mnt/x/22.jpg is empty"},
      {"error: no 'alice'", "error: no 'bob o'neill'"},
      {"\x1b[31merror: 1\x1b[0m", "error: 2"},
      {"10%\r20%\rerror: 1", "error: 2"},
  };
  for (const auto& [a, b] : pairs) EXPECT_EQ(Of(a), Of(b)) << a;
  EXPECT_EQ(Of("error: alice.csv is empty", "s3://b/alice.csv"),
            Of("error: bob.csv is empty", "s3://b/bob.csv"));
  EXPECT_EQ(Of("error: alice.csv is empty", "s3://b/alice.csv"), "error: {item} is empty");
  EXPECT_EQ(Of("error: 4711 is odd", "4711"), Of("error: 17 is odd", "17"));
}

TEST(SignatureTest, WhatSaysMoreIsKept) {
  EXPECT_NE(Of("error: HTTP 404"), Of("error: HTTP 503"));
  EXPECT_NE(Of("error: errno 2"), Of("error: errno 13"));
  EXPECT_NE(Of("x.py:3: error: 1"), Of("x.py:4: error: 1"));
  EXPECT_EQ(Of("error: can't do it, don't ask"), "error: can't do it, don't ask");
}

TEST(SignatureTest, WithoutWordsTheCauseSpeaks) {
  EXPECT_EQ(SignatureOf({.cause = Cause::kFailed, .exit = 3}), "exit code 3");
  EXPECT_EQ(SignatureOf({.cause = Cause::kFailed, .exit = 3, .tail = " \n\n"}), "exit code 3");
  EXPECT_EQ(SignatureOf({.cause = Cause::kFailed, .exit = 137}), "signal 9");
  EXPECT_EQ(SignatureOf({.cause = Cause::kTimeout, .exit = 143, .tail = "error: 1"}), "timeout");
  EXPECT_EQ(SignatureOf({.cause = Cause::kOutOfMemory, .tail = "error: 1"}), "out of memory");
  EXPECT_EQ(SignatureOf({.cause = Cause::kLost}), "machine lost");
  EXPECT_EQ(SignatureOf({.cause = Cause::kSucceeded, .tail = "error: 1"}), "");
  EXPECT_EQ(SignatureOf({.cause = Cause::kInterrupted, .tail = "error: 1"}), "");
}

TEST(SignatureTest, KeepsThePlaceOfALongError) {
  const std::string frame = "  File \"/a/load.py\", line 31, in f\n";
  const std::string got = Of(frame + "ValueError: " + std::string(3000, 'x'));
  EXPECT_EQ(got.size(), kSignatureBytes);
  EXPECT_TRUE(got.ends_with("x at load.py:31")) << got;
}

RC_GTEST_PROP(SignatureTest, IsShortUtf8OfAnyBytes, (const std::string& bytes)) {
  std::string tail = "error: " + bytes;
  const std::string got = Of(tail, bytes);
  RC_ASSERT(!got.empty());
  RC_ASSERT(got.size() <= kSignatureBytes);
  RC_ASSERT(CleanText(got) == got);
  RC_ASSERT(got.find('\n') == std::string::npos);
}

TEST(SignatureTest, CutsNoCharacterInTwo) {
  std::string text = "error: ";
  for (int i = 0; i < 300; ++i) text += "é";
  const std::string got = Of(text);
  EXPECT_LE(got.size(), kSignatureBytes);
  EXPECT_EQ(CleanText(got), got);
}

}  // namespace
}  // namespace tidemill
