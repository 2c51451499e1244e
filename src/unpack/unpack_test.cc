// SPDX-License-Identifier: Apache-2.0
#include "unpack/unpack.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "submit/tar_writer.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;

ByteRead From(std::string text) {
  return [text = std::move(text), at = std::size_t{0}](
             char* to, std::size_t size) mutable -> Result<std::size_t> {
    const std::size_t some = std::min({size, std::size_t{1000}, text.size() - at});
    std::memcpy(to, text.data() + at, some);
    at += some;
    return some;
  };
}

// Entries as somebody evil writes them.
struct Raw {
  char kind = '0';
  std::string name = {};
  std::string target = {};
  std::string bytes = {};
  std::string size = {};  // the field as it stands; empty: that of the bytes
  std::string prefix = {};
  bool bad_sum = false;
};

std::string Entry(const Raw& raw) {
  std::string block = TarHeader({.name = raw.name.substr(0, 100),
                                 .target = raw.target.substr(0, 100),
                                 .size_bytes = static_cast<std::int64_t>(raw.bytes.size())});
  block[156] = raw.kind;
  if (!raw.size.empty()) std::memcpy(block.data() + 124, raw.size.data(), raw.size.size());
  std::memcpy(block.data() + 345, raw.prefix.data(), raw.prefix.size());
  std::memset(block.data() + 148, ' ', 8);
  unsigned sum = raw.bad_sum ? 1 : 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  std::snprintf(block.data() + 148, 8, "%06o", sum & 0777777);
  return block + raw.bytes + TarPadding(static_cast<std::int64_t>(raw.bytes.size()));
}

std::string Archive(const std::vector<Raw>& entries) {
  std::string out;
  for (const Raw& raw : entries) out += Entry(raw);
  return out + TarEnd();
}

std::string Pax(const std::string& name, const std::string& value) {
  const std::size_t size = name.size() + value.size() + 3;
  std::size_t length = size + std::to_string(size).size();
  length = size + std::to_string(length).size();
  return Entry({.kind = 'x',
                .name = "pax",
                .bytes = std::to_string(length) + " " + name + "=" + value + "\n"});
}

class UnpackTest : public ::testing::Test {
 protected:
  UnpackTest() {
    std::string name = (fs::temp_directory_path() / "tidemill-unpack-XXXXXX").string();
    base_ = mkdtemp(name.data());
    std::ofstream(base_ / "outside") << "outside";
  }
  ~UnpackTest() override {
    RemoveUnpacked((base_ / "in").string());
    fs::remove_all(base_);
  }

  Result<std::int64_t> Unpack(const std::string& packed, const UnpackLimits& limits = {}) {
    RemoveUnpacked((base_ / "in").string());
    fs::create_directory(base_ / "in");
    return UnpackTarZstd(From(packed), (base_ / "in").string(), limits);
  }
  Result<std::int64_t> UnpackTar(const std::string& tar, const UnpackLimits& limits = {}) {
    return Unpack(Compress(tar), limits);
  }
  std::string Text(const std::string& name) const {
    std::ifstream file(base_ / "in" / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  int ModeOf(const std::string& name) const {
    struct stat status{};
    lstat((base_ / "in" / name).c_str(), &status);
    return static_cast<int>(status.st_mode & 07777);
  }
  // Nothing beside the folder was made or changed.
  void ExpectOutsideIsAsItWas() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(base_)) {
      names.insert(entry.path().filename().string());
    }
    EXPECT_EQ(names, (std::set<std::string>{"in", "outside"}));
    std::ifstream file(base_ / "outside");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "outside");
  }

  fs::path base_;
};

TEST_F(UnpackTest, UnpacksWhatWePack) {
  const std::string long_name = std::string(90, 'd') + "/" + std::string(90, 'f');
  const std::string bytes(3000, 'x');
  std::string tar =
      TarHeader({.kind = TarItem::Kind::kFolder, .name = "a"}) + TarHeader({.name = "a/empty"}) +
      TarHeader({.name = "a/run", .size_bytes = 3000, .executable = true}) + bytes +
      TarPadding(3000) + TarHeader({.name = long_name, .size_bytes = 2}) + "hi" + TarPadding(2) +
      TarHeader({.kind = TarItem::Kind::kLink, .name = "a/link", .target = "../a/run"}) + TarEnd();
  const auto unpacked = UnpackTar(tar);
  ASSERT_TRUE(unpacked) << unpacked.error().reason;
  EXPECT_EQ(*unpacked, 3002);
  EXPECT_EQ(Text("a/empty"), "");
  EXPECT_EQ(Text("a/run"), bytes);
  EXPECT_EQ(Text("a/link"), bytes);
  EXPECT_EQ(Text(long_name), "hi");
  EXPECT_EQ(ModeOf("a/run"), 0555);
  EXPECT_EQ(ModeOf("a/empty"), 0444);
  EXPECT_EQ(ModeOf("a"), 0555);
  EXPECT_EQ(ModeOf(""), 0555);
  ExpectOutsideIsAsItWas();
  RemoveUnpacked((base_ / "in").string());
  EXPECT_FALSE(fs::exists(base_ / "in"));
}

TEST_F(UnpackTest, UnpacksWhatOthersPack) {
  const std::string long_name(150, 'n');
  const auto unpacked = UnpackTar(Archive({{.kind = '5', .name = "./"},
                                           {.name = "./x", .bytes = "1"},
                                           {.kind = '5', .name = "./d/"},
                                           {.kind = '1', .name = "./d/hard", .target = "./x"},
                                           {.name = "e/f", .bytes = "2"},
                                           {.kind = '5', .name = "e/"},
                                           {.kind = 'L', .name = "@LongLink", .bytes = long_name},
                                           {.name = "cut", .bytes = "3"},
                                           {.kind = 'g', .name = "g", .bytes = "13 comment=x\n"},
                                           {.name = "last", .prefix = "pre/fix"}}));
  ASSERT_TRUE(unpacked) << unpacked.error().reason;
  EXPECT_EQ(Text("d/hard"), "1");
  EXPECT_EQ(Text("e/f"), "2");
  EXPECT_EQ(Text(long_name), "3");
  EXPECT_TRUE(fs::exists(base_ / "in/pre/fix/last"));
}

using Named = std::vector<std::pair<std::string, std::string>>;

// Names and links that lead elsewhere, or meet each other.
Named EvilNames() {
  return {
      {"absolute", Archive({{.name = "/etc/evil"}})},
      {"up", Archive({{.name = "../evil"}})},
      {"up later", Archive({{.name = "a/../../evil"}})},
      {"up at the end", Archive({{.kind = '5', .name = "a/.."}})},
      {"up by prefix", Archive({{.name = "evil", .prefix = ".."}})},
      {"absolute by prefix", Archive({{.name = "evil", .prefix = "/tmp"}})},
      {"up by pax", Pax("path", "../evil") + Archive({{.name = "good"}})},
      {"absolute by pax", Pax("path", "/tmp/evil") + Archive({{.name = "good"}})},
      {"up by a long name",
       Archive({{.kind = 'L', .name = "l", .bytes = "../evil"}, {.name = "good"}})},
      {"an empty part", Archive({{.name = "a//b"}})},
      {"a dot inside", Archive({{.name = "a/./b"}})},
      {"no name", Archive({{.name = ""}})},
      {"the root as a file", Archive({{.name = "."}})},
      {"the root as a link", Archive({{.kind = '2', .name = "./", .target = "/"}})},
      {"a name with a NUL", Pax("path", std::string("a\0b", 3)) + Archive({{.name = "good"}})},
      {"a link out", Archive({{.kind = '2', .name = "l", .target = "../outside"}})},
      {"an absolute link", Archive({{.kind = '2', .name = "l", .target = "/etc/passwd"}})},
      {"a link out by pax",
       Pax("linkpath", "../../outside") + Archive({{.kind = '2', .name = "l", .target = "x"}})},
      {"a link that goes up later",
       Archive({{.kind = '2', .name = "a/b/l", .target = "c/../../.."}})},
      {"a link over a link",
       Archive({{.kind = '2', .name = "d/e/up", .target = "../.."},
                {.kind = '2', .name = "d/e/f/l", .target = "../up/../outside"}})},
      {"a link without a target", Archive({{.kind = '2', .name = "l"}})},
      {"a file through a link",
       Archive({{.kind = '2', .name = "l", .target = "."}, {.name = "l/evil"}})},
      {"a file over a link",
       Archive({{.kind = '2', .name = "l", .target = "x"}, {.name = "l", .bytes = "evil"}})},
      {"a folder over a link",
       Archive({{.kind = '2', .name = "l", .target = "x"}, {.kind = '5', .name = "l"}})},
      {"a file below a file", Archive({{.name = "f"}, {.name = "f/g"}})},
      {"a name twice", Archive({{.name = "f", .bytes = "1"}, {.name = "f", .bytes = "2"}})},
      {"a name twice, written twice", Archive({{.name = "f"}, {.name = "./f"}})},
      {"a folder twice", Archive({{.kind = '5', .name = "d"}, {.kind = '5', .name = "d/"}})},
      {"a hard link out", Archive({{.kind = '1', .name = "h", .target = "../outside"}})},
      {"a hard link to nothing", Archive({{.kind = '1', .name = "h", .target = "later"}})},
      {"a hard link to a link", Archive({{.kind = '2', .name = "l", .target = "x"},
                                         {.kind = '1', .name = "h", .target = "l"}})},
  };
}

// Kinds, sizes and records that are not what they should be.
Named EvilEntries() {
  std::string deep = "d";
  for (int i = 0; i < 32; ++i) deep += "/d";
  const std::string huge_size("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12);
  const std::string negative_size("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
  return {
      {"a character device", Archive({{.kind = '3', .name = "null"}})},
      {"a block device", Archive({{.kind = '4', .name = "sda"}})},
      {"a pipe", Archive({{.kind = '6', .name = "pipe"}})},
      {"a sparse file", Archive({{.kind = 'S', .name = "s"}})},
      {"a sparse file by pax", Pax("GNU.sparse.major", "1") + Archive({{.name = "s"}})},
      {"a kind that nobody knows", Archive({{.kind = 'Z', .name = "z"}})},
      {"2^63 bytes", Archive({{.name = "f", .size = huge_size}})},
      {"negative bytes", Archive({{.name = "f", .size = negative_size}})},
      {"bytes by pax", Pax("size", "9223372036854775807") + Archive({{.name = "f"}})},
      {"negative bytes by pax", Pax("size", "-1") + Archive({{.name = "f"}})},
      {"a size that is none", Archive({{.name = "f", .size = "0000000008x\0"}})},
      {"bytes of a folder", Archive({{.kind = '5', .name = "d", .bytes = "x"}})},
      {"too deep", Archive({{.name = deep}})},
      {"a long part", Pax("path", std::string(256, 'a')) + Archive({{.name = "f"}})},
      {"a long name",
       Archive({{.kind = 'L', .name = "l", .bytes = std::string(70'000, 'a')}, {.name = "f"}})},
      {"a pax record that is too long",
       Entry({.kind = 'x', .name = "x", .bytes = "99 path=a\n"}) + Archive({{.name = "f"}})},
      {"a pax record without an end",
       Entry({.kind = 'x', .name = "x", .bytes = "9 path=ab"}) + Archive({{.name = "f"}})},
      {"records without end", Pax("path", "a") + Pax("path", "b") + Pax("path", "c") +
                                  Pax("path", "d") + Pax("path", "e") + Archive({{.name = "f"}})},
      {"a wrong sum", Archive({{.name = "f", .bad_sum = true}})},
      {"no archive", std::string(2000, 'x')},
      {"nothing", ""},
      {"cut off", Archive({{.name = "f", .bytes = std::string(5000, 'x')}}).substr(0, 3000)},
      {"without an end", Entry({.name = "f", .bytes = "x"})},
  };
}

TEST_F(UnpackTest, RefusesEveryEvilArchive) {
  Named evil = EvilNames();
  for (auto& each : EvilEntries()) evil.push_back(std::move(each));
  EXPECT_GE(evil.size(), 30u);
  for (const auto& [name, tar] : evil) {
    const auto unpacked = UnpackTar(tar);
    ASSERT_FALSE(unpacked) << name;
    EXPECT_EQ(unpacked.error().code, Code::kInvalid) << name << ": " << unpacked.error().reason;
    ExpectOutsideIsAsItWas();
  }
  EXPECT_FALSE(Unpack("not zstd at all"));
}

TEST_F(UnpackTest, KeepsToItsLimits) {
  const std::string zeros(1 << 20, '\0');
  const std::string one = Archive({{.name = "a", .bytes = zeros}});
  EXPECT_TRUE(UnpackTar(one, {.bytes = 1 << 20}));
  EXPECT_FALSE(UnpackTar(one, {.bytes = (1 << 20) - 1}));
  EXPECT_FALSE(UnpackTar(Archive({{.name = "a", .bytes = zeros}, {.name = "b", .bytes = "x"}}),
                         {.bytes = 1 << 20}));
  EXPECT_TRUE(UnpackTar(Archive({{.name = "a/b"}, {.name = "a/c"}}), {.entries = 3}));
  EXPECT_FALSE(UnpackTar(Archive({{.name = "a/b"}, {.name = "a/c"}}), {.entries = 2}));
  EXPECT_FALSE(UnpackTar(Archive({{.name = "a/b/c"}}), {.depth = 2}));
  // A megabyte of zeros takes some dozens of bytes.
  const auto bomb = UnpackTar(one, {.ratio = 200, .ratio_from = 1 << 16});
  ASSERT_FALSE(bomb);
  EXPECT_NE(bomb.error().reason.find("200 times"), std::string::npos) << bomb.error().reason;
}

}  // namespace
}  // namespace tidemill
