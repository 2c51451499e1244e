// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs between folders of a machine and a store that is a folder.
#include "data/mover/mover.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include <gtest/gtest.h>

#include "data/mover/data_thread.h"
#include "net/asio_loop.h"

namespace tidemill {
namespace {

namespace fs = std::filesystem;

OutputOwner Owner(std::int64_t item = 3, std::int32_t round = 0,
                  const std::string& attempt = "0.1.a") {
  return {"films/render-1", item, round, attempt};
}

class DataThreadTest : public testing::Test {
 protected:
  DataThreadTest() {
    std::string name = (fs::temp_directory_path() / "tidemill-data-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    fs::create_directory(folder_ / "store");
    data_.emplace(loop_,
                  DataThread::Options{
                      (folder_ / "data").string(), SystemWorld(), {(folder_ / "store").string()}});
    loop_.After(std::chrono::seconds(60), [this] {
      ADD_FAILURE() << "the test hangs";
      loop_.Stop();
    });
  }
  ~DataThreadTest() override {
    data_.reset();
    fs::remove_all(folder_);
  }

  template <typename T, typename Start>
  Result<T> Await(Start start) {
    std::optional<Result<T>> got;
    start([&](Result<T> result) {
      got = std::move(result);
      loop_.Stop();
    });
    EXPECT_FALSE(got) << "called from inside";
    loop_.Run();
    return got ? *std::move(got) : Fail(Code::kInternal, "no answer");
  }
  Result<void> Fetch(const DataWork& work, const DataPlace& place = {{1}, 7}) {
    return Await<void>([&](auto done) { data_->Fetch(place, work, done); });
  }
  Result<void> Store(const DataWork& work, OutputOwner owner = Owner(),
                     const DataPlace& place = {{1}, 7}) {
    return Await<void>([&](auto done) { data_->Store(place, work, owner, done); });
  }
  Result<bool> Exist(const DataWork& work) {
    return Await<bool>([&](auto done) { data_->Exist(work, done); });
  }

  std::string Url(const std::string& key) const {
    return "file://" + (folder_ / "store" / key).string();
  }
  void Write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  static std::string Read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  fs::path Stored(const std::string& key) const { return folder_ / "store" / key; }
  fs::path In(const DataInput& input) { return PathOf(data_->FoldersOf({1}), {{1}, 7}, input); }
  fs::path Out(const DataOutput& output) { return PathOf(data_->FoldersOf({1}), {{1}, 7}, output); }
  DataWork Writes(const DataOutput& output, OutputExists exists = OutputExists::kFail) {
    DataWork work;
    work.outputs = {output};
    work.exists = exists;
    return work;
  }
  DataOutput File(const std::string& key = "out/a.png") {
    return {"", DataOutput::Kind::kFile, Url(key), ""};
  }
  DataOutput Folder(const std::string& key = "out/a/") {
    return {"", DataOutput::Kind::kFolder, Url(key), ""};
  }

  fs::path folder_;
  AsioLoop loop_;
  std::optional<DataThread> data_;
};

TEST_F(DataThreadTest, BringsAFileUnderItsOwnName) {
  Write(Stored("in/cat.jpg"), "meow");
  DataWork work;
  work.inputs = {{"", Url("in/cat.jpg")}};
  ASSERT_TRUE(Fetch(work));
  EXPECT_EQ(In(work.inputs[0]).filename(), "cat.jpg");
  EXPECT_EQ(Read(In(work.inputs[0])), "meow");
  EXPECT_EQ(data_->held_bytes(), 4);
  data_->Forget({{1}, 7});
  ASSERT_TRUE(Fetch({}, {{1}, 8}));  // behind it on the same thread
  EXPECT_FALSE(fs::exists(In(work.inputs[0])));
  EXPECT_EQ(data_->held_bytes(), 0);
}

TEST_F(DataThreadTest, BringsSeveralAndWholeFolders) {
  Write(Stored("in/cat.jpg"), "meow");
  Write(Stored("ref/x/1.bin"), "one");
  Write(Stored("ref/2.bin"), "two");
  DataWork work;
  work.inputs = {{"image", Url("in/cat.jpg")}, {"ref", Url("ref/")}};
  ASSERT_TRUE(Fetch(work));
  EXPECT_EQ(Read(In(work.inputs[0])), "meow");
  EXPECT_EQ(Read(In(work.inputs[1]) / "x/1.bin"), "one");
  EXPECT_EQ(Read(In(work.inputs[1]) / "2.bin"), "two");
}

TEST_F(DataThreadTest, SaysWhatIsMissing) {
  DataWork work;
  work.inputs = {{"", Url("in/none.jpg")}};
  auto fetched = Fetch(work);
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code, Code::kNotFound);
  EXPECT_NE(fetched.error().reason.find("in/none.jpg"), std::string::npos);
  work.inputs = {{"", Url("in/nothing/")}};
  fetched = Fetch(work);
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code, Code::kNotFound);
}

TEST_F(DataThreadTest, StoresAFile) {
  const DataWork work = Writes(File());
  ASSERT_TRUE(Fetch(work));
  EXPECT_FALSE(Exist(work).value());
  Write(Out(File()), "pixels");
  ASSERT_TRUE(Store(work));
  EXPECT_EQ(Read(Stored("out/a.png")), "pixels");
  EXPECT_TRUE(Exist(work).value());
  // The outputs have left the folder that containers see.
  EXPECT_FALSE(fs::exists(Out(File())));
  ASSERT_TRUE(Store(work));  // said again
}

TEST_F(DataThreadTest, StoresAFolderBelowItsAttemptAndAPointerToIt) {
  const DataWork work = Writes(Folder());
  ASSERT_TRUE(Fetch(work));
  Write(Out(Folder()) / "x.png", "1");
  Write(Out(Folder()) / "deep/y.png", "22");
  EXPECT_FALSE(Exist(work).value());
  ASSERT_TRUE(Store(work));
  EXPECT_EQ(Read(Stored("out/a/0.1.a/x.png")), "1");
  EXPECT_EQ(Read(Stored("out/a/0.1.a/deep/y.png")), "22");
  EXPECT_EQ(Read(Stored("out/a/_tidemill.json")),
            R"({"job":"films/render-1","item":3,"round":0,"attempt":"0.1.a",)"
            R"("files":[{"name":"deep/y.png","bytes":2},{"name":"x.png","bytes":1}]})");
  EXPECT_TRUE(Exist(work).value());
}

TEST_F(DataThreadTest, StoresWhatMatches) {
  const DataOutput output{"", DataOutput::Kind::kGlob, Url("out/a/"), "*.png"};
  const DataWork work = Writes(output);
  ASSERT_TRUE(Fetch(work));
  Write(Out(output) / "x.png", "1");
  Write(Out(output) / "y.txt", "2");
  ASSERT_TRUE(Store(work));
  EXPECT_TRUE(fs::exists(Stored("out/a/0.1.a/x.png")));
  EXPECT_FALSE(fs::exists(Stored("out/a/0.1.a/y.txt")));
  const DataOutput none{"", DataOutput::Kind::kGlob, Url("out/b/"), "*.jpg"};
  ASSERT_TRUE(Fetch(Writes(none)));
  EXPECT_EQ(Store(Writes(none)).error().code, Code::kInvalid);
}

TEST_F(DataThreadTest, OfAllAttemptsTheFirstOfTheNewestRoundCounts) {
  const DataWork work = Writes(File());
  const auto store = [&](const std::string& text, const OutputOwner& owner) {
    EXPECT_TRUE(Fetch(work));
    Write(Out(File()), text);
    return Store(work, owner);
  };
  ASSERT_TRUE(store("first", Owner(3, 0, "0.1.a")));
  ASSERT_TRUE(store("second", Owner(3, 0, "0.2.b")));
  EXPECT_EQ(Read(Stored("out/a.png")), "first");
  ASSERT_TRUE(store("again", Owner(3, 1, "1.1.c")));
  EXPECT_EQ(Read(Stored("out/a.png")), "again");
  ASSERT_TRUE(store("late", Owner(3, 0, "0.3.d")));
  EXPECT_EQ(Read(Stored("out/a.png")), "again");
}

TEST_F(DataThreadTest, MeetsAStrangersObjectAsItIsTold) {
  const auto store = [&](OutputExists exists) {
    const DataWork work = Writes(File(), exists);
    EXPECT_TRUE(Fetch(work));
    Write(Out(File()), "ours");
    return Store(work, Owner(4));
  };
  Write(Stored("out/a.png"), "theirs");
  const auto failed = store(OutputExists::kFail);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kConflict);
  EXPECT_TRUE(store(OutputExists::kSkip));
  EXPECT_EQ(Read(Stored("out/a.png")), "theirs");
  EXPECT_TRUE(store(OutputExists::kReplace));
  EXPECT_EQ(Read(Stored("out/a.png")), "ours");
}

TEST_F(DataThreadTest, RemovesWhatAnEarlierLifeHasLeft) {
  ASSERT_TRUE(Fetch(Writes(File()), {{1}, 7}));
  ASSERT_TRUE(Fetch(Writes(File()), {{1}, 8}));
  ASSERT_TRUE(Fetch(Writes(File()), {{2}, 9}));
  ASSERT_TRUE(Fetch(Writes(File()), {{3}, 12}));
  data_->KeepOnly({.below = 10, .places = {{{1}, 8}}, .jobs = {{1}}});
  ASSERT_TRUE(Fetch({}, {{3}, 13}));
  const fs::path root = folder_ / "data";
  EXPECT_FALSE(fs::exists(root / "1/out/7"));
  EXPECT_TRUE(fs::exists(root / "1/out/8"));
  EXPECT_FALSE(fs::exists(root / "2"));
  EXPECT_TRUE(fs::exists(root / "3/out/12"));
}

// --- what a program may leave behind ---

class TrickTest : public DataThreadTest {
 protected:
  void Prepare(const DataWork& work) { ASSERT_TRUE(Fetch(work)); }
  // What is left is refused, and nothing of it, nor of what it leads to, is stored.
  void ExpectRefused(const DataWork& work) {
    const auto stored = Store(work);
    ASSERT_FALSE(stored);
    EXPECT_EQ(stored.error().code, Code::kInvalid) << stored.error().reason;
    EXPECT_FALSE(fs::exists(Stored("out/a.png")));
    EXPECT_FALSE(fs::exists(Stored("out/a/_tidemill.json")));
  }
  fs::path Secret() {
    Write(folder_ / "secret", "of the machine");
    return folder_ / "secret";
  }
};

TEST_F(TrickTest, NoFileAtAll) {
  Prepare(Writes(File()));
  ExpectRefused(Writes(File()));
}

TEST_F(TrickTest, ALinkToAFile) {
  Prepare(Writes(File()));
  fs::create_symlink(Secret(), Out(File()));
  ExpectRefused(Writes(File()));
}

TEST_F(TrickTest, ALinkToAFileBesideIt) {
  Prepare(Writes(File()));
  Write(Out(File()).parent_path() / "b", "x");
  fs::create_symlink("b", Out(File()));
  ExpectRefused(Writes(File()));
}

TEST_F(TrickTest, ALinkThatLeadsNowhereOrToItself) {
  Prepare(Writes(File()));
  fs::create_symlink("a.png", Out(File()));
  ExpectRefused(Writes(File()));
}

TEST_F(TrickTest, AHardLink) {
  Prepare(Writes(File()));
  fs::create_hard_link(Secret(), Out(File()));
  ExpectRefused(Writes(File()));
}

TEST_F(TrickTest, AFifo) {
  Prepare(Writes(File()));
  ASSERT_EQ(mkfifo(Out(File()).c_str(), 0666), 0);
  ExpectRefused(Writes(File()));
}

TEST_F(TrickTest, ADevice) {
  Prepare(Writes(File()));
  if (mknod(Out(File()).c_str(), S_IFCHR | 0666, makedev(1, 5)) != 0) {
    fs::create_symlink("/dev/zero", Out(File()));  // where we may make none
  }
  ExpectRefused(Writes(File()));
}

TEST_F(TrickTest, AFolderWhereAFileShouldBe) {
  Prepare(Writes(File()));
  fs::create_directory(Out(File()));
  ExpectRefused(Writes(File()));
}

TEST_F(TrickTest, AFileWhereAFolderShouldBe) {
  Prepare(Writes(Folder()));
  fs::remove(Out(Folder()));
  Write(Out(Folder()), "x");
  ExpectRefused(Writes(Folder()));
}

TEST_F(TrickTest, ItsWholeFolderIsALink) {
  Prepare(Writes(File()));
  const fs::path own = Out(File()).parent_path();
  fs::remove_all(own);
  Write(folder_ / "elsewhere/a.png", "of the machine");
  fs::create_symlink(folder_ / "elsewhere", own);
  ExpectRefused(Writes(File()));
}

TEST_F(TrickTest, ItsWholeFolderIsGone) {
  Prepare(Writes(File()));
  fs::remove_all(Out(File()).parent_path());
  ExpectRefused(Writes(File()));
}

TEST_F(TrickTest, ALinkAmongTheFilesOfAFolder) {
  Prepare(Writes(Folder()));
  Write(Out(Folder()) / "good.png", "x");
  fs::create_symlink(Secret(), Out(Folder()) / "bad.png");
  ExpectRefused(Writes(Folder()));
}

TEST_F(TrickTest, ALinkToAFolderAmongThem) {
  Prepare(Writes(Folder()));
  Write(Out(Folder()) / "good.png", "x");
  fs::create_symlink("/etc", Out(Folder()) / "etc");
  ExpectRefused(Writes(Folder()));
}

TEST_F(TrickTest, TheFolderOfANamedOutputIsALink) {
  DataOutput output = File();
  output.name = "image";
  Prepare(Writes(output));
  fs::remove(Out(output).parent_path());
  Write(folder_ / "elsewhere/a.png", "of the machine");
  fs::create_symlink(folder_ / "elsewhere", Out(output).parent_path());
  ExpectRefused(Writes(output));
}

TEST_F(TrickTest, AFolderThatIsTooDeep) {
  Prepare(Writes(Folder()));
  fs::path deep = Out(Folder());
  for (int i = 0; i < 40; ++i) deep /= "d";
  Write(deep / "x", "x");
  ExpectRefused(Writes(Folder()));
}

TEST_F(TrickTest, ANameThatNoObjectCanHave) {
  for (const std::string& name :
       {std::string("a\nb"), std::string("\xff\xfe"), std::string("\x01")}) {
    Prepare(Writes(Folder()));
    Write(Out(Folder()) / name, "x");
    ExpectRefused(Writes(Folder()));
  }
}

TEST_F(TrickTest, NamesThatAreOnlyOddStayBelowTheFolder) {
  Prepare(Writes(Folder()));
  for (const char* name : {"..a", "%2e%2e", "a b", "ü", "...", "~", "C:", "a\\..\\b", "-rf"}) {
    Write(Out(Folder()) / name, "x");
  }
  ASSERT_TRUE(Store(Writes(Folder())));
  for (const char* name : {"..a", "%2e%2e", "a b", "ü", "...", "~", "C:", "a\\..\\b", "-rf"}) {
    EXPECT_TRUE(fs::exists(Stored("out/a/0.1.a") / name)) << name;
  }
}

TEST_F(TrickTest, AHugeFileWithHolesIsStoredAsItIs) {
  Prepare(Writes(File()));
  Write(Out(File()), "x");
  fs::resize_file(Out(File()), 64 << 20);
  ASSERT_TRUE(Store(Writes(File())));
  EXPECT_EQ(fs::file_size(Stored("out/a.png")), std::uintmax_t{64} << 20);
}

TEST_F(TrickTest, NoFileOfTheMachineIsReadOrWritten) {
  const fs::path secret = Secret();
  for (const std::string& path : {secret.string(), (folder_ / "store-not/x").string(),
                                  Stored("../secret").string(), std::string("/etc/passwd")}) {
    DataWork reads;
    reads.inputs = {{"", "file://" + path}};
    const auto fetched = Fetch(reads);
    ASSERT_FALSE(fetched) << path;
    const bool is_refused =
        fetched.error().code == Code::kForbidden || fetched.error().code == Code::kInvalid;
    EXPECT_TRUE(is_refused) << path << ": " << fetched.error().reason;
  }
  const DataOutput output{"", DataOutput::Kind::kFile, "file://" + (folder_ / "new").string(), ""};
  Prepare(Writes(output));
  Write(Out(output), "x");
  const auto stored = Store(Writes(output));
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().code, Code::kForbidden);
  EXPECT_FALSE(fs::exists(folder_ / "new"));
}

// An object's name cannot make us write outside of the input's folder.
TEST_F(TrickTest, NoInputLeavesItsFolder) {
  for (const char* name : {"../x", "a/../../x", "/x", "a//b", "", ".", "a/.", "a/.."}) {
    EXPECT_FALSE(FilePathBelow("/in", name)) << name;
  }
  EXPECT_EQ(FilePathBelow("/in", "a/..b/c").value(), "/in/a/..b/c");
}

}  // namespace
}  // namespace tidemill
