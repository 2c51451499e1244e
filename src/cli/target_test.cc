// SPDX-License-Identifier: Apache-2.0
#include "cli/target.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "base/fd.h"
#include "cli/contexts.h"
#include "cli/locate.h"
#include "cli/login.h"
#include "wire/up_json.h"

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

using Variables = std::map<std::string, std::string>;

SavedContext Saved(const std::string& name, const std::string& server, const std::string& token) {
  SavedContext context;
  context.name = name;
  context.server = server;
  context.token = token;
  return context;
}

// A home of its own, in which nobody has signed in to anything yet.
class TargetTest : public testing::Test {
 protected:
  TargetTest()
      : home_(fs::path(testing::TempDir()) /
              ("tidemill_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    fs::remove_all(home_);
    fs::create_directories(home_);
  }
  ~TargetTest() override { fs::remove_all(home_); }

  Surroundings Around(Variables variables = {}) const {
    variables.emplace("HOME", home_.string());
    Surroundings around;
    around.env = [variables](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    };
    return around;
  }

  fs::path File() const { return home_ / ".config/tidemill/contexts.json"; }

  void Keep(const std::vector<SavedContext>& contexts, const std::string& current) const {
    const auto kept = ChangeContexts(Around(), [&](ContextsFile& file) -> Result<void> {
      file.contexts = contexts;
      file.current = current;
      return {};
    });
    ASSERT_TRUE(kept) << kept.error().reason;
  }

  // As a running `tidemill up` leaves it: we are alive.
  void RunUp(const std::string& url) const {
    const fs::path folder = home_ / ".local/share/tidemill";
    fs::create_directories(folder);
    std::ofstream(folder / "admin.token") << "up-token\n";
    std::ofstream(folder / "up.json")
        << FormatUp({url, ::getpid(), "/agent", (folder / "admin.token").string(), "/up-ca.pem"});
  }

  Target Find(const TargetFlags& flags, const Variables& variables = {}) const {
    const auto target = FindTarget(Around(variables), false, flags);
    EXPECT_TRUE(target) << target.error().reason;
    return target.value_or(Target{});
  }

  Code FailsToFind(const TargetFlags& flags, const Variables& variables = {}) const {
    const auto target = FindTarget(Around(variables), false, flags);
    EXPECT_FALSE(target);
    return target ? Code::kInternal : target.error().code;
  }

  static mode_t ModeOf(const fs::path& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }

  const fs::path home_;
};

TEST_F(TargetTest, KeepsContextsWhereNobodyElseReadsThem) {
  Keep({Saved("a", "https://a", "ta")}, "a");
  EXPECT_EQ(ModeOf(File()), 0600u);
  EXPECT_EQ(ModeOf(File().parent_path()), 0700u);
  const auto read = ReadContexts(Around());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->contexts, std::vector{Saved("a", "https://a", "ta")});
  EXPECT_EQ(ContextsPath(Around({{"XDG_CONFIG_HOME", "/c"}})), "/c/tidemill/contexts.json");
}

TEST_F(TargetTest, ShutsAFolderThatWasOpenWhenItWritesIntoIt) {
  fs::create_directories(File().parent_path());
  fs::permissions(File().parent_path(), fs::perms::owner_all | fs::perms::others_all);
  Keep({Saved("a", "https://a", "ta")}, "a");
  EXPECT_EQ(ModeOf(File().parent_path()), 0700u);
}

TEST_F(TargetTest, RefusesAFileThatOthersCanReadAndSaysWhatToDo) {
  Keep({Saved("a", "https://a", "ta")}, "a");
  for (const mode_t mode : {0644u, 0640u, 0602u}) {
    ASSERT_EQ(::chmod(File().c_str(), mode), 0);
    const auto read = ReadContexts(Around());
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::kForbidden);
    EXPECT_NE(read.error().reason.find("chmod 600 " + File().string()), std::string::npos);
    EXPECT_EQ(FailsToFind({}), Code::kForbidden);
    EXPECT_FALSE(ChangeContexts(Around(), [](ContextsFile&) { return Result<void>(); }));
  }
  ASSERT_EQ(::chmod(File().c_str(), 0600), 0);
  EXPECT_TRUE(ReadContexts(Around()));
}

TEST_F(TargetTest, SaysOfABrokenFileThatItIsAndLeavesItAlone) {
  Keep({Saved("a", "https://a", "ta")}, "a");
  for (const std::string text : {"", "{", "[1]", R"({"contexts":[{"name":"a"}]})"}) {
    std::ofstream(File(), std::ios::trunc) << text;
    const auto read = ReadContexts(Around());
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kInvalid);
    EXPECT_NE(read.error().reason.find("is broken"), std::string::npos) << read.error().reason;
    EXPECT_FALSE(ChangeContexts(Around(), [](ContextsFile&) { return Result<void>(); }));
    EXPECT_EQ(ReadFile(File(), 1000), text);
  }
  fs::remove(File());
  fs::create_directory(File());
  EXPECT_FALSE(ReadContexts(Around()));
}

TEST_F(TargetTest, ChangesNothingIfTheChangeIsRefusedOrSomebodyElseIsAtIt) {
  Keep({Saved("a", "https://a", "ta")}, "a");
  const auto before = ReadFile(File(), 10'000);
  const auto refused = ChangeContexts(Around(), [](ContextsFile& file) -> Result<void> {
    file.contexts.clear();
    return Fail(Code::kNotFound, "no");
  });
  EXPECT_EQ(refused.error().reason, "no");
  EXPECT_EQ(ReadFile(File(), 10'000), before);

  const Fd other(::open(File().parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  const auto locked = ChangeContexts(Around(), [](ContextsFile& file) -> Result<void> {
    file.contexts.clear();
    return {};
  });
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().code, Code::kConflict);
  EXPECT_EQ(ReadFile(File(), 10'000), before);
  EXPECT_TRUE(ReadContexts(Around()));  // who only reads waits for nobody
}

TEST_F(TargetTest, TakesWhatACrashLeftBehindForNothing) {
  Keep({Saved("a", "https://a", "ta")}, "a");
  std::ofstream(File().string() + ".new") << "half";
  ASSERT_EQ(::chmod((File().string() + ".new").c_str(), 0644), 0);
  Keep({Saved("b", "https://b", "tb")}, "b");
  EXPECT_EQ(ModeOf(File()), 0600u);
  EXPECT_EQ(ReadContexts(Around())->current, "b");
  EXPECT_FALSE(fs::exists(File().string() + ".new"));
}

TEST_F(TargetTest, GoesFromTheFlagsOverVariablesAndTheCurrentContextToTheServerOfThisMachine) {
  EXPECT_EQ(FailsToFind({}), Code::kUnavailable);
  RunUp("https://127.0.0.1:9");
  EXPECT_EQ(Find({}).url, "https://127.0.0.1:9");
  Keep({Saved("a", "https://a", "ta"), Saved("b", "https://b", "tb")}, "");
  EXPECT_EQ(Find({}).url, "https://127.0.0.1:9");
  Keep({Saved("a", "https://a", "ta"), Saved("b", "https://b", "tb")}, "a");
  EXPECT_EQ(Find({}).url, "https://a");
  EXPECT_EQ(Find({}, {{"TIDEMILL_CONTEXT", "b"}}).url, "https://b");
  EXPECT_EQ(Find({}, {{"TIDEMILL_SERVER", "https://s"}}).url, "https://s");
  const Variables set = {{"TIDEMILL_SERVER", "https://s"}};
  EXPECT_EQ(Find({.context = "b"}, set).url, "https://b");
  EXPECT_EQ(Find({.server = "https://t"}, {{"TIDEMILL_CONTEXT", "b"}}).url, "https://t");
  EXPECT_EQ(FailsToFind({.server = "https://t", .context = "a"}), Code::kInvalid);
  EXPECT_EQ(FailsToFind({}, {{"TIDEMILL_SERVER", "https://s"}, {"TIDEMILL_CONTEXT", "b"}}),
            Code::kInvalid);
  EXPECT_EQ(FailsToFind({.context = "c"}), Code::kNotFound);
}

TEST_F(TargetTest, SendsAContextsTokenToItsServerAndToNoOther) {
  SavedContext a = Saved("a", "https://a.example", "ta");
  a.ca = "pem";
  a.project = "vision";
  Keep({a, Saved("b", "https://b.example:8443", "tb")}, "a");
  RunUp("https://127.0.0.1:9");

  const Target current = Find({});
  EXPECT_EQ(current.token, "ta");
  EXPECT_EQ(current.ca_pem, "pem");
  EXPECT_EQ(current.project, "vision");
  EXPECT_EQ(Find({.context = "b"}).token, "tb");
  // Neither the token nor whom to believe nor the project is any other server's business.
  for (const char* other : {"https://c.example", "https://a.example:8443", "http://a.example",
                            "https://a.example.evil", "https://b.example", "https://A"}) {
    const Target target = Find({.server = other});
    EXPECT_EQ(target.token, "") << other;
    EXPECT_EQ(target.ca_pem, "") << other;
    EXPECT_EQ(target.project, "") << other;
    EXPECT_EQ(target.context, "") << other;
  }
  // Its own, in another spelling.
  EXPECT_EQ(Find({.server = "https://a.example:443/"}).token, "ta");
  EXPECT_EQ(Find({}, {{"TIDEMILL_SERVER", "https://b.example:8443"}}).token, "tb");
  EXPECT_EQ(Find({.server = "https://127.0.0.1:9"}).token, "up-token");
  EXPECT_EQ(Find({.server = "https://127.0.0.1:9"}).ca_file, "/up-ca.pem");
}

TEST_F(TargetTest, TakesTheContextsTokenIfThatOfTheServerHereIsNotOursToRead) {
  RunUp("https://127.0.0.1:9");
  Keep({Saved("a", "https://127.0.0.1:9", "ta")}, "");
  EXPECT_EQ(Find({.server = "https://127.0.0.1:9/"}).token, "up-token");
  EXPECT_EQ(Find({.server = "https://127.0.0.1:9/"}).ca_file, "/up-ca.pem");
  fs::remove(FindUp(Around(), false)->token_file);
  EXPECT_EQ(Find({}).token, "ta");
}

TEST_F(TargetTest, SendsTheVariablesTokenToNoContext) {
  Keep({Saved("a", "https://a", "ta")}, "a");
  const Variables set = {{"TIDEMILL_TOKEN", "tv"}, {"TIDEMILL_CA", "/v.pem"}};
  EXPECT_EQ(Find({}, set).token, "ta");
  EXPECT_EQ(Find({}, set).ca_file, "");
  EXPECT_EQ(Find({.context = "a"}, set).token, "ta");
  EXPECT_EQ(Find({.server = "https://s"}, set).token, "tv");
  EXPECT_EQ(Find({.server = "https://s"}, set).ca_file, "/v.pem");
  EXPECT_EQ(Find({.server = "https://s", .ca = "/f.pem"}, set).ca_file, "/f.pem");
  EXPECT_EQ(Find({.ca = "/f.pem"}, set).ca_file, "/f.pem");
}

TEST_F(TargetTest, AsksWhichOfTwoContextsOfOneServerIsMeant) {
  const std::vector both = {Saved("ann", "https://a", "t1"), Saved("root", "https://a/", "t2")};
  Keep(both, "");
  EXPECT_EQ(FailsToFind({.server = "https://a"}), Code::kInvalid);
  Keep(both, "root");
  EXPECT_EQ(Find({.server = "https://a"}).token, "t2");
  EXPECT_EQ(Find({.context = "ann"}).token, "t1");
}

TEST_F(TargetTest, TakesTheProjectFromTheFlagThenTheVariableThenTheContext) {
  SavedContext a = Saved("a", "https://a", "ta");
  a.project = "kept";
  Keep({a}, "a");
  EXPECT_EQ(Find({}).project, "kept");
  EXPECT_EQ(Find({}, {{"TIDEMILL_PROJECT", "v"}}).project, "v");
  EXPECT_EQ(Find({.project = "f"}, {{"TIDEMILL_PROJECT", "v"}}).project, "f");
}

TEST(LoginTexts, SayWhoYouAre) {
  SavedContext context = Saved("batch.example", "https://batch.example", "t");
  Caller caller;
  caller.name = "ann";
  caller.project = "vision";
  caller.role = Role::kSubmitter;
  EXPECT_EQ(SignedInText(context, caller),
            "Signed in to https://batch.example as 'ann' (submitter in project vision); context "
            "'batch.example' is now the current one.");
  caller.project = "";
  caller.role = Role::kAdmin;
  context.project = "vision";
  EXPECT_EQ(SignedInText(context, caller),
            "Signed in to https://batch.example as 'ann' (admin in all projects, here in vision); "
            "context 'batch.example' is now the current one.");
}

TEST(LoginTexts, MarkTheCurrentContext) {
  EXPECT_EQ(ContextsText({}, 100, false),
            "no context yet.  Sign in to a server:  tidemill login URL\n");
  const ContextsFile file{
      .current = "b", .contexts = {Saved("a", "https://a", "t1"), Saved("b", "https://b", "t2")}};
  EXPECT_EQ(ContextsText(file, 100, false),
            "   CONTEXT  SERVER     PROJECT\n"
            "   a        https://a  -\n"
            "*  b        https://b  -\n");
}

}  // namespace
}  // namespace tidemill::cli
