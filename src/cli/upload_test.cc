// SPDX-License-Identifier: Apache-2.0
#include "cli/upload.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "base/digest.h"
#include "cli/table_items.h"

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

class UploadTest : public ::testing::Test {
 protected:
  UploadTest() {
    loop_.After(std::chrono::seconds(60), [this] {
      ADD_FAILURE() << "the test hangs";
      loop_.Stop();
    });
  }
  ~UploadTest() override { fs::remove_all(folder_); }

  static fs::path MakeFolder() {
    std::string name = (fs::temp_directory_path() / "tidemill-upload-XXXXXX").string();
    return mkdtemp(name.data());
  }
  std::string Write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  static std::string ReadUrl(const std::string& url) {
    std::ifstream file(url.substr(std::string("file://").size()), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string Url() const { return "file://" + (folder_ / "store").string() + "/"; }
  // What becomes of the lines.
  Result<std::string> Lines(const std::string& text) {
    std::size_t at = 0;
    const ByteRead from = [&](char* to, std::size_t size) -> Result<std::size_t> {
      const std::size_t some = text.copy(to, size, at);
      at += some;
      return some;
    };
    const ByteRead read = UploadItemPaths(from, "list", uploader_);
    std::string all;
    std::string piece(1000, '\0');
    while (true) {
      TIDEMILL_TRY(const std::size_t got, read(piece.data(), piece.size()));
      if (got == 0) return all;
      all.append(piece, 0, got);
    }
  }

  AsioLoop loop_;
  SeededRandom random_{1};
  Stores stores_{loop_, random_, {.now_ms = [] { return std::int64_t{0}; }}};
  const fs::path folder_ = MakeFolder();
  int told_ = 0;
  Uploader uploader_{stores_, Url(), [this](const UploadState&) { ++told_; }};
};

TEST_F(UploadTest, AFileIsStoredUnderItsHashAndKeepsItsName) {
  const std::string large(3'000'000, 'x');
  const std::string a = Write("in/a.jpg", "one");
  const std::string b = Write("in/b.jpg", large);
  const auto urls = uploader_.Store({a, b, a});
  ASSERT_TRUE(urls) << urls.error().reason;
  EXPECT_EQ(*urls, (std::vector<std::string>{Url() + Hex(Sha256("one")) + "/a.jpg",
                                             Url() + Hex(Sha256(large)) + "/b.jpg",
                                             Url() + Hex(Sha256("one")) + "/a.jpg"}));
  EXPECT_EQ(ReadUrl(urls->at(0)), "one");
  EXPECT_EQ(ReadUrl(urls->at(1)), large);
  EXPECT_EQ(uploader_.state().files, 2);
  EXPECT_EQ(uploader_.state().bytes, 3'000'003);
  EXPECT_EQ(uploader_.state().were_there, 0);
  EXPECT_EQ(told_, 2);
  // Once more: nothing is sent.
  const fs::path stored = urls->at(0).substr(std::string("file://").size());
  const auto before = fs::last_write_time(stored);
  EXPECT_EQ(uploader_.Store({a}).value(), std::vector<std::string>{urls->at(0)});
  EXPECT_EQ(uploader_.state().were_there, 1);
  EXPECT_EQ(fs::last_write_time(stored), before);
}

TEST_F(UploadTest, AFolderIsStoredWhole) {
  Write("scan/1.png", "one");
  Write("scan/deep/2.png", "two");
  const auto urls = uploader_.Store({(folder_ / "scan").string(), (folder_ / "scan/").string()});
  ASSERT_TRUE(urls) << urls.error().reason;
  EXPECT_EQ(urls->at(0), urls->at(1));
  EXPECT_TRUE(urls->at(0).ends_with("/scan/")) << urls->at(0);
  EXPECT_EQ(ReadUrl(urls->at(0) + "1.png"), "one");
  EXPECT_EQ(ReadUrl(urls->at(0) + "deep/2.png"), "two");
  // Another content, or another name in it, is another folder.
  Write("scan/1.png", "One");
  const auto changed = uploader_.Store({(folder_ / "scan").string()});
  EXPECT_NE(changed.value(), std::vector<std::string>{urls->at(0)});
  EXPECT_EQ(ReadUrl(urls->at(0) + "1.png"), "one");
}

TEST_F(UploadTest, WhatCannotBeSentSaysWhy) {
  const auto error = [this](const std::string& path) {
    const auto urls = uploader_.Store({path});
    EXPECT_FALSE(urls);
    return urls ? "" : urls.error().reason;
  };
  EXPECT_NE(error((folder_ / "none").string()).find("No such file"), std::string::npos);
  fs::create_directory(folder_ / "empty");
  EXPECT_NE(error((folder_ / "empty").string()).find("is an empty folder"), std::string::npos);
  EXPECT_NE(error("/dev/null").find("is no plain file"), std::string::npos);
}

TEST_F(UploadTest, PathsInItemsBecomeUrls) {
  const std::string a = Write("in/a.jpg", "one");
  const std::string url = Url() + Hex(Sha256("one")) + "/a.jpg";
  const auto lines = Lines(a + "\ns3://bucket/b.jpg\n{\"file\":\"" + a +
                           "\",\"n\":1,\"other\":\"/none\",\"word\":\"a\"}\n" + a + "\n");
  ASSERT_TRUE(lines) << lines.error().reason;
  EXPECT_EQ(*lines, url + "\ns3://bucket/b.jpg\n{\"file\":\"" + url +
                        "\",\"n\":1,\"other\":\"/none\",\"word\":\"a\"}\n" + url + "\n");
  EXPECT_EQ(uploader_.state().files, 1);
  const auto wrong = Lines(a + "\n" + (folder_ / "none").string() + "\n");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::kInvalid);
  EXPECT_TRUE(wrong.error().reason.starts_with("list:2: cannot read ")) << wrong.error().reason;
}

}  // namespace
}  // namespace tidemill::cli
