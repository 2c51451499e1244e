// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "cli/locate.h"
#include "cli/up_folder.h"
#include "cli/up_postgres.h"

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

Surroundings With(std::map<std::string, std::string> variables) {
  Surroundings around;
  around.env = [variables =
                    std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  return around;
}

class UpTest : public testing::Test {
 protected:
  UpTest() : folder_(fs::path(testing::TempDir()) / "tidemill_up") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~UpTest() override { fs::remove_all(folder_); }

  void Program(const fs::path& path) const {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\n";
    fs::permissions(path, fs::perms::owner_all);
  }

  const fs::path folder_;
};

TEST_F(UpTest, LooksForPostgresNewestFirstButForItsOwnVersionBeforeThat) {
  for (const char* version : {"9", "13", "15"}) {
    Program(folder_ / "usr/lib/postgresql" / version / "bin/initdb");
    Program(folder_ / "usr/lib/postgresql" / version / "bin/postgres");
  }
  Program(folder_ / "usr/pgsql-14/bin/initdb");  // without a server
  const auto around = With({{"PATH", "/a:/b"}});
  const auto lib = folder_ / "usr/lib/postgresql";
  EXPECT_EQ(PostgresFolders(around, "/c", folder_, ""),
            (std::vector<fs::path>{"/c", lib / "15/bin", folder_ / "usr/pgsql-14/bin",
                                   lib / "13/bin", lib / "9/bin", "/a", "/b"}));
  EXPECT_EQ(FindPostgres(PostgresFolders(around, "", folder_, "")), lib / "15/bin");
  EXPECT_EQ(FindPostgres(PostgresFolders(around, "", folder_, "13")), lib / "13/bin");
  EXPECT_EQ(FindPostgres(PostgresFolders(around, "", folder_, "14")), lib / "15/bin");
  EXPECT_FALSE(FindPostgres({folder_}));
  const auto told = With({{"TIDEMILL_PG_BIN", "/told"}});
  EXPECT_EQ(PostgresFolders(told, "/c", folder_, ""), std::vector<fs::path>{"/told"});
}

TEST_F(UpTest, ReadsWhatPostgresSaysOfItself) {
  const std::string starting = "4711\n/data\n1777\n5432\n/run\n\n  1 2\nstarting\n";
  EXPECT_EQ(ParsePostmasterFile(starting)->pid, 4711);
  EXPECT_FALSE(ParsePostmasterFile(starting)->ready);
  EXPECT_TRUE(ParsePostmasterFile("4711\n/data\n1777\n5432\n/run\n\n  1 2\nready   \n")->ready);
  EXPECT_FALSE(ParsePostmasterFile("4711\n/data\n")->ready);
  EXPECT_FALSE(ParsePostmasterFile(""));
}

TEST_F(UpTest, QuotesTheSocketsFolderForLibpq) {
  PostgresPlan plan;
  plan.socket_folder = "/it's/run";
  EXPECT_EQ(ConninfoOf(plan), "host='/it\\'s/run' port=5432 user=tidemill dbname=postgres");
}

TEST_F(UpTest, RunsOnceInAFolder) {
  auto first = UpFolder::Open(folder_ / "data", false);
  ASSERT_TRUE(first) << first.error().reason;
  const auto second = UpFolder::Open(folder_ / "data", false);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kConflict);
  EXPECT_EQ(second.error().reason, "already running (pid " + std::to_string(::getpid()) + ")");
}

TEST_F(UpTest, IsFoundByOtherCommandsWhileItLives) {
  const auto around = With({{"XDG_DATA_HOME", folder_.string()}});
  {
    auto up = UpFolder::Open(folder_ / "tidemill", false);
    ASSERT_TRUE(up);
    ASSERT_TRUE(up->Announce({"http://127.0.0.1:9", ::getpid(), "/agent"}));
    ASSERT_TRUE(FindUp(around, false));
    EXPECT_EQ(FindServer(around, false, ""), "http://127.0.0.1:9");
    EXPECT_EQ(FindServer(around, false, "http://told"), "http://told");
    // As one that was killed leaves it behind: no process has this number.
    ASSERT_TRUE(up->Announce({"http://127.0.0.1:9", 2'000'000'000, "/agent"}));
    EXPECT_FALSE(fs::exists("/var/lib/tidemill/up.json") ? std::nullopt : FindUp(around, false));
  }
  EXPECT_FALSE(fs::exists(folder_ / "tidemill/up.json"));
}

TEST_F(UpTest, AsksTheVariableBeforeTheFile) {
  EXPECT_EQ(FindServer(With({{"TIDEMILL_SERVER", "http://b"}}), false, ""), "http://b");
  EXPECT_EQ(FindServer(With({{"TIDEMILL_SERVER", "http://b"}}), false, "http://a"), "http://a");
  EXPECT_EQ(DataFolder(With({{"HOME", "/h"}}), false), "/h/.local/share/tidemill");
  EXPECT_EQ(DataFolder(With({{"HOME", "/h"}}), true), "/var/lib/tidemill");
  EXPECT_FALSE(DataFolder(With({}), false));
}

TEST_F(UpTest, KeepsThePort) {
  auto up = UpFolder::Open(folder_ / "data", false);
  ASSERT_TRUE(up);
  EXPECT_EQ(up->LastPort(), 0);
  ASSERT_TRUE(up->KeepPort(4711));
  EXPECT_EQ(up->LastPort(), 4711);
  std::ofstream(folder_ / "data/port") << "99999";
  EXPECT_EQ(up->LastPort(), 0);
}

TEST_F(UpTest, PutsTheSocketWhereItsPathIsShortEnough) {
  const auto near = MakeSocketFolder(folder_ / "data", folder_ / "s", std::nullopt);
  ASSERT_TRUE(near) << near.error().reason;
  EXPECT_EQ(*near, folder_ / "data/run");
  const fs::path deep = folder_ / std::string(90, 'x');
  const auto far = MakeSocketFolder(deep, folder_ / "s", std::nullopt);
  ASSERT_TRUE(far) << far.error().reason;
  EXPECT_EQ(far->parent_path(), folder_ / "s");
  EXPECT_EQ(*far, *MakeSocketFolder(deep, folder_ / "s", std::nullopt));
  struct stat info{};
  ASSERT_EQ(::stat(far->c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  const auto odd = MakeSocketFolder(folder_ / "a,b", folder_ / "s", std::nullopt);
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->parent_path(), folder_ / "s");
  EXPECT_NE(*odd, *far);
}

TEST_F(UpTest, TrustsNoLinkInPlaceOfTheSocketsFolder) {
  fs::create_directories(folder_ / "data");
  fs::create_directories(folder_ / "theirs");
  fs::create_directory_symlink(folder_ / "theirs", folder_ / "data/run");
  EXPECT_FALSE(MakeSocketFolder(folder_ / "data", folder_ / "s", std::nullopt));
}

TEST_F(UpTest, FindsTheFolderThatAnAccountMayNotEnter) {
  const Account stranger{"stranger", 61'234, 61'234};
  fs::permissions(folder_, fs::perms::owner_all);
  EXPECT_EQ(ShutFolder(folder_ / "data/pg", stranger), folder_);
  fs::permissions(folder_, fs::perms::owner_all | fs::perms::others_exec);
  EXPECT_FALSE(ShutFolder(folder_ / "data/pg", stranger));
}

}  // namespace
}  // namespace tidemill::cli
