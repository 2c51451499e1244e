// SPDX-License-Identifier: Apache-2.0
#include "cli/open_items.h"

#include <stdlib.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace tidemill::cli {
namespace {

class OpenItemsTest : public ::testing::Test {
 protected:
  OpenItemsTest() {
    std::string name = (std::filesystem::temp_directory_path() / "tidemill-items-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    loop_.After(std::chrono::seconds(60), [this] {
      ADD_FAILURE() << "the test hangs";
      loop_.Stop();
    });
  }
  ~OpenItemsTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  Result<std::string> Read(const std::string& where) {
    TIDEMILL_TRY(OpenedItems items, OpenItems(
                                        where, [this]() -> Stores& { return stores_; },
                                        [this](const ListState& state) { seen_ = state.seen; }));
    std::string all;
    while (true) {
      TIDEMILL_TRY(const std::string part, items.source.Next());
      if (part.empty()) return all;
      all += part;
    }
  }
  std::string ErrorOf(const std::string& where, Code code) {
    const auto got = Read(where);
    EXPECT_FALSE(got) << *got;
    if (got) return "";
    EXPECT_EQ(got.error().code, code) << got.error().reason;
    std::string reason = got.error().reason;
    for (std::size_t at; (at = reason.find(folder_.string())) != reason.npos;) {
      reason.replace(at, folder_.string().size(), "F");
    }
    return reason;
  }
  static std::string Gzipped(const std::string& path, const std::string& text) {
    gzFile file = gzopen(path.c_str(), "ab");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return path;
  }
  std::string Url(const std::string& name) const { return "file://" + (folder_ / name).string(); }

  AsioLoop loop_;
  SeededRandom random_{1};
  Stores stores_{loop_, random_, {.now_ms = [] { return std::int64_t{0}; }}};
  std::filesystem::path folder_;
  std::int64_t seen_ = -1;
};

TEST_F(OpenItemsTest, TakesLinesOfTextFromAnyFile) {
  EXPECT_EQ(Read(Write("list.txt", "a,b\n{x\n")).value(), "a,b\n{x\n");
  EXPECT_EQ(ErrorOf((folder_ / "none").string(), Code::kNotFound),
            "cannot open F/none: No such file or directory");
  EXPECT_TRUE(ErrorOf(folder_.string(), Code::kInternal).starts_with("read F: "));
}

TEST_F(OpenItemsTest, MakesObjectsOfTheRowsOfATable) {
  const std::string csv = "\xef\xbb\xbfid,text\n1,\"two\nlines\"\n\n2,\"a \"\"b\"\"\"";
  const std::string items =
      "{\"id\":\"1\",\"text\":\"two\\nlines\"}\n{\"id\":\"2\",\"text\":\"a \\\"b\\\"\"}\n";
  EXPECT_EQ(Read(Write("list.csv", csv)).value(), items);
  EXPECT_EQ(Read(Write("list.tsv", "id\ttext\n1\ta,b\n")).value(),
            "{\"id\":\"1\",\"text\":\"a,b\"}\n");
  EXPECT_EQ(Read(Gzipped((folder_ / "list.csv.gz").string(), csv)).value(), items);
  EXPECT_EQ(Read(Write("list.csv.zst", Compress(csv))).value(), items);
  EXPECT_EQ(Read(Url("list.csv.zst")).value(), items);
  EXPECT_EQ(ErrorOf(Write("bad.csv", "a,b\n1,2\n3\n"), Code::kInvalid),
            "F/bad.csv:3: 1 fields, where the first line has 2");
  EXPECT_EQ(ErrorOf(Write("twice.csv", "a,a\n"), Code::kInvalid),
            "F/twice.csv:1: two columns are called 'a'");
  EXPECT_TRUE(ErrorOf(Write("long.csv", "a\n1\n" + std::string(70'000, 'x') + "\n"), Code::kInvalid)
                  .starts_with("F/long.csv:3: an item of 70008 bytes"));
}

TEST_F(OpenItemsTest, TakesJsonLinesThatAreObjects) {
  EXPECT_EQ(Read(Write("list.jsonl", "{\"a\": 1}\r\n\n {\"b\":2}")).value(),
            "{\"a\": 1}\n {\"b\":2}\n");
  EXPECT_TRUE(ErrorOf(Write("bad.ndjson", "{}\n\n[1]\n"), Code::kInvalid)
                  .starts_with("F/bad.ndjson:3: not a JSON object"));
  EXPECT_TRUE(
      ErrorOf(Write("bad.jsonl", "{\"a\":\n"), Code::kInvalid).starts_with("F/bad.jsonl:1: "));
}

TEST_F(OpenItemsTest, UnpacksWhatIsPacked) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += "item-" + std::to_string(i) + "\n";
  EXPECT_EQ(Read(Write("a.txt.zst", Compress(text))).value(), text);
  Gzipped((folder_ / "a.gz").string(), text);
  // Two behind each other are one.
  EXPECT_EQ(Read(Gzipped((folder_ / "a.gz").string(), text)).value(), text + text);
  std::filesystem::resize_file(folder_ / "a.gz", 1000);
  EXPECT_EQ(ErrorOf((folder_ / "a.gz").string(), Code::kInvalid),
            "F/a.gz: its gzip data ends too early");
  EXPECT_TRUE(ErrorOf(Write("b.gz", "no"), Code::kInvalid).starts_with("F/b.gz: "));
  EXPECT_TRUE(ErrorOf(Write("b.zst", "none"), Code::kInvalid).starts_with("F/b.zst: zstd: "));
}

TEST_F(OpenItemsTest, ListsTheObjectsThatAPatternMatches) {
  for (const char* const name : {"in/b.jpg", "in/a.jpg", "in/x/c.jpg", "in/x/c.txt", "other.jpg"}) {
    Write(name, "x");
  }
  EXPECT_EQ(Read(Url("in/**/*.jpg")).value(),
            Url("in/a.jpg") + "\n" + Url("in/b.jpg") + "\n" + Url("in/x/c.jpg") + "\n");
  EXPECT_EQ(seen_, 4);
  EXPECT_EQ(Read(Url("in/{b,x/c}.[jt]*")).value(),
            Url("in/b.jpg") + "\n" + Url("in/x/c.jpg") + "\n" + Url("in/x/c.txt") + "\n");
  EXPECT_EQ(ErrorOf(Url("in/*.png"), Code::kNotFound),
            "nothing matches file://F/in/*.png (4 objects looked at)");
  EXPECT_EQ(ErrorOf(Url("in/[a"), Code::kInvalid),
            "file://F/in/[a: a '[' without its ']'; for the character write \\[");
  EXPECT_EQ(ErrorOf(Url("in/"), Code::kInvalid),
            "file://F/in/ is no object; for all that is below it, write 'file://F/in/**'");
  EXPECT_TRUE(ErrorOf(Url("in/none.csv"), Code::kNotFound).ends_with("No such file or directory"));
  Write("in/a\nb.jpg", "");
  EXPECT_TRUE(ErrorOf(Url("in/*.jpg"), Code::kInvalid).find("control characters") !=
              std::string::npos);
}

TEST(StoreHints, SayWhatToDoNext) {
  EXPECT_NE(StoreHint("s3://b/x", Code::kNobody).find("AWS_PROFILE"), std::string::npos);
  EXPECT_NE(StoreHint("gs://b/x", Code::kForbidden).find("GOOGLE_"), std::string::npos);
  EXPECT_EQ(StoreHint("file:///b/x", Code::kForbidden), "");
  EXPECT_EQ(ExitOf(Code::kNotFound), kNoSuchThing);
  EXPECT_EQ(ExitOf(Code::kNobody), kNotAllowed);
  EXPECT_EQ(ExitOf(Code::kUnavailable), kNoServer);
  EXPECT_EQ(ExitOf(Code::kInvalid), kWrongUse);
}

}  // namespace
}  // namespace tidemill::cli
