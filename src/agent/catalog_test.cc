// SPDX-License-Identifier: Apache-2.0
#include "agent/catalog.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "engine/fake/fake_engine.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

// Servers that know one job, whose items are a range.
class JobLink : public ServerLink {
 public:
  explicit JobLink(Loop& loop) : loop_(loop) {}
  void Join(JoinRequest, Done<Joined>) override {}
  void Sync(SyncRequest, Done<SyncResult>) override {}
  void Wait(const SessionPass&, Done<bool>) override {}
  void FetchItems(const SessionPass&, ChunkKey, Done<std::string> done) override {
    Answer(done, "");
  }
  void FetchJob(const SessionPass&, JobId id, Done<Job> done) override {
    ++jobs_asked;
    Job job;
    job.id = id;
    job.spec.name = "test";
    job.spec.document = document;
    job.image_digest = image_digest;
    job.project = "films";
    job.objects = objects;
    job.items = 10;
    Answer(done, job);
  }
  void FetchSecrets(const SessionPass& pass, JobId, Done<Secrets> done) override {
    ++secrets_asked;
    EXPECT_EQ(pass.token, "token");
    Result<Secrets> answer = secrets;
    if (outages > 0) {
      --outages;
      answer = Fail(Code::kUnavailable, "no database");
    }
    Answer(done, answer);
  }

  void FetchRole(const SessionPass&, JobId, Done<RoleKeys> done) override {
    ++roles_asked;
    Answer(done, role);
  }
  void PinImage(const SessionPass&, JobId, const std::string&, Done<std::string>) override {}

  std::string document = R"({"command":["true"]})";
  std::string image_digest;
  std::string objects;
  Result<Secrets> secrets;
  Result<RoleKeys> role;
  int roles_asked = 0;
  int outages = 0;
  int jobs_asked = 0;
  int secrets_asked = 0;

 private:
  template <typename Done, typename T>
  void Answer(Done done, T value) {
    loop_.After(std::chrono::milliseconds(1), [done, value] { done(value); });
  }
  Loop& loop_;
};

struct NoLogs : ItemLogs {
  void Append(const LogPlace&, std::string_view) override {}
  std::string Close(const LogPlace&) override { return {}; }
  void UseSession(const std::string&, bool) override {}
  void Resume(const LogPlace&) override {}
  void StoreAt(JobId, const std::string&) override {}
  void Follow(const std::vector<JobId>&) override {}
  void LimitAttempts(std::int64_t) override {}
};

struct OneCode : JobCode {
  explicit OneCode(Loop& a_loop) : loop(a_loop) {}
  void Get(const std::string& url, const std::string& sha256,
           std::function<void(Result<Folder>)> done) override {
    asked.push_back(url);
    EXPECT_TRUE(url.ends_with("/" + sha256));
    loop.After(std::chrono::milliseconds(1), [this, done = std::move(done)] {
      if (asked.size() <= outages) return done(Fail(Code::kUnavailable, "the store is away"));
      done(answer);
    });
  }
  Loop& loop;
  Result<Folder> answer = std::make_shared<const std::string>("/state/code/x");
  std::size_t outages = 0;
  std::vector<std::string> asked;
};

struct NoMemory : AgentMemory {
  void Keep(const SessionPass&) override {}
};

class CatalogTest : public testing::Test {
 protected:
  // Empty, or why the job cannot be run.
  std::string Get(Duration within = seconds(1)) {
    std::optional<std::string> told;
    catalog_.Get(kChunk, 10,
                 [&](const Result<void>& got) { told = got ? "" : got.error().reason; });
    bool late = false;
    const TimerId limit = loop_.After(within, [&] { late = true; });
    while (!told && !late) loop_.Step();
    loop_.Cancel(limit);
    return told.value_or("nothing was told");
  }
  void RunFor(Duration time) {
    bool over = false;
    loop_.After(time, [&over] { over = true; });
    while (!over) loop_.Step();
  }
  ItemRun Make() {
    auto run = catalog_.Make({.key = {}, .chunk = kChunk, .item = 3});
    EXPECT_TRUE(run) << run.error().reason;
    return *std::move(run);
  }
  static bool Has(const ItemRun& run, const std::string& variable) {
    return std::find(run.env.begin(), run.env.end(), variable) != run.env.end();
  }

  static constexpr ChunkKey kChunk{{7}, 0};
  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  JobLink link_{loop_};
  FakeEngine engine_{loop_, {}};
  NoLogs logs_;
  NoMemory memory_;
  NullLog log_;
  AgentLimits limits_;
  OneCode code_{loop_};
  AgentDeps deps_{loop_, link_, engine_, random_, log_, logs_, memory_, nullptr, &code_};
  SessionPass pass_{SessionId{1, 1}, "token"};
  Catalog catalog_{deps_, limits_, pass_};
};

TEST_F(CatalogTest, AsksForSecretsOfJobsThatNameSomeOnly) {
  EXPECT_EQ(Get(), "");
  EXPECT_EQ(link_.secrets_asked, 0);
  EXPECT_EQ(catalog_.JobOf({7}).secrets, nullptr);
  EXPECT_FALSE(catalog_.JobOf({7}).container.secret_files);
  EXPECT_TRUE(Make().secret_files.empty());
}

TEST_F(CatalogTest, PutsSecretsIntoTheVariablesAndFilesOfEachRun) {
  link_.document = R"({"command":["true"],"env":{"A":"b"},
      "secrets":["TOKEN",{"name":"TOKEN","env":"AGAIN"},{"name":"key","file":"key.json"}]})";
  link_.secrets = Secrets{{"TOKEN", "to ken"}, {"key", std::string("\0{}", 3)}, {"other", "x"}};
  EXPECT_EQ(Get(), "");
  EXPECT_TRUE(catalog_.JobOf({7}).container.secret_files);
  for (int i = 0; i < 2; ++i) {
    const ItemRun run = Make();
    EXPECT_TRUE(Has(run, "A=b"));
    EXPECT_TRUE(Has(run, "TOKEN=to ken"));
    EXPECT_TRUE(Has(run, "AGAIN=to ken"));
    EXPECT_FALSE(Has(run, "other=x"));
    ASSERT_EQ(run.secret_files.size(), 1u);
    EXPECT_EQ(run.secret_files[0].name, "key.json");
    EXPECT_EQ(run.secret_files[0].content, std::string("\0{}", 3));
  }
  EXPECT_EQ(Get(), "");
  EXPECT_EQ(link_.secrets_asked, 1);
}

TEST_F(CatalogTest, NeedsNoPlaceForFilesOfAJobWhoseSecretsAreVariables) {
  link_.document = R"({"command":["true"],"secrets":["A"]})";
  link_.secrets = Secrets{{"A", ""}};
  EXPECT_EQ(Get(), "");
  EXPECT_FALSE(catalog_.JobOf({7}).container.secret_files);
  EXPECT_TRUE(Has(Make(), "A="));
}

TEST_F(CatalogTest, SaysWhichSecretDoesNotExistAndAsksAgainForTheNextLease) {
  link_.document = R"({"command":["true"],"secrets":["A","HF_TOKEN"]})";
  link_.secrets = Secrets{{"A", "canary"}};
  EXPECT_EQ(
      Get(),
      "secret 'HF_TOKEN' does not exist in this project; set it: tidemill secret set HF_TOKEN");
  EXPECT_EQ(catalog_.EachOf({7}), nullptr);
  link_.secrets = Fail(Code::kNotFound, "as the server says it");
  EXPECT_EQ(Get(), "as the server says it");
  link_.secrets = Secrets{{"A", "a"}, {"HF_TOKEN", "b"}};
  EXPECT_EQ(Get(), "");
  EXPECT_EQ(link_.jobs_asked, 3);
  EXPECT_EQ(link_.secrets_asked, 3);
}

TEST_F(CatalogTest, KeepsTheLoginOfAnImageFromItsItemsAndHidesIt) {
  link_.document = R"({"image":"h:5000/a","command":["true"],"image_login":"reg"})";
  link_.secrets = Secrets{{"reg", "me:pass:word\n"}};
  EXPECT_EQ(Get(), "");
  const Catalog::Entry& entry = catalog_.JobOf({7});
  ASSERT_NE(entry.secrets, nullptr);
  EXPECT_EQ(entry.secrets->login(), (RegistryLogin{"me", "pass:word"}));
  EXPECT_FALSE(entry.container.login);
  EXPECT_FALSE(entry.container.secret_files);
  const ItemRun run = Make();
  EXPECT_TRUE(run.secret_files.empty());
  for (const std::string& variable : run.env) EXPECT_EQ(variable.find("word"), variable.npos);
  MaskedText masked(entry.secrets->masker());
  EXPECT_EQ(masked.Feed("it is me:pass:word, or pass:word.") + masked.Flush(),
            "it is ***, or ***.");
}

constexpr char kWithRole[] =
    R"({"command":["true"],"role":"arn:aws:iam::123456789012:role/r","secrets":["A"]})";

RoleKeys KeysCalled(const std::string& name) {
  return {.document = "{" + name + "}", .secrets = {name}, .ask_again = seconds(600)};
}

TEST_F(CatalogTest, AsksForTheKeysOfARoleBeforeTheyEnd) {
  link_.document = kWithRole;
  link_.secrets = Secrets{{"A", "of the project"}};
  link_.role = KeysCalled("first-keys");
  EXPECT_EQ(Get(), "");
  const auto masked = [&](const std::string& text) {
    MaskedText one(catalog_.JobOf({7}).secrets->masker());
    return one.Feed(text) + one.Flush();
  };
  EXPECT_EQ(catalog_.JobOf({7}).secrets->role()->document, "{first-keys}");
  EXPECT_EQ(masked("of the project, first-keys, second-keys"), "***, ***, second-keys");
  EXPECT_TRUE(Has(Make(), "A=of the project"));

  int renewed = 0;
  const auto tick = [&](int times) {
    for (int i = 0; i < times; ++i) {
      catalog_.RenewRoles([&](JobId job) { renewed += job == JobId{7}; });
      RunFor(seconds(1));
    }
  };
  tick(590);
  EXPECT_EQ(link_.roles_asked, 1);
  link_.role = KeysCalled("second-keys");
  tick(20);
  EXPECT_EQ(link_.roles_asked, 2);
  EXPECT_EQ(renewed, 1);
  EXPECT_EQ(catalog_.JobOf({7}).secrets->role()->document, "{second-keys}");
  EXPECT_EQ(masked("of the project, first-keys, second-keys"), "***, ***, ***");
  EXPECT_TRUE(Has(Make(), "A=of the project"));
}

TEST_F(CatalogTest, KeepsTheKeysOfARoleThatCannotBeRenewedAndAsksAgain) {
  link_.document = kWithRole;
  link_.secrets = Secrets{{"A", "a"}};
  link_.role = Fail(Code::kInvalid, "project films may not have it");
  EXPECT_EQ(Get(), "project films may not have it");
  link_.role = KeysCalled("first-keys");
  EXPECT_EQ(Get(), "");
  link_.role = Fail(Code::kUnavailable, "STS does not answer");
  for (int i = 0; i < 700; ++i) {
    catalog_.RenewRoles([](JobId) { ADD_FAILURE() << "there are none"; });
    RunFor(seconds(1));
  }
  EXPECT_EQ(catalog_.JobOf({7}).secrets->role()->document, "{first-keys}");
  EXPECT_GE(link_.roles_asked, 2 + 3);
  EXPECT_LE(link_.roles_asked, 2 + 5);
}

TEST_F(CatalogTest, ItemsBeginInTheFolderOfTheirCode) {
  const std::string sha256(64, 'a');
  link_.document = R"({"command":["true"],"code":"blob:)" + sha256 + "\"}";
  link_.objects = "s3://bucket/prefix";
  code_.outages = 2;
  EXPECT_EQ(Get(seconds(30)), "");
  const std::string url = "s3://bucket/prefix/blobs/films/" + sha256;
  EXPECT_EQ(code_.asked, (std::vector<std::string>{url, url, url}));
  const Catalog::Entry& entry = catalog_.JobOf({7});
  EXPECT_EQ(entry.container.work_folder, "/state/code/x");
  EXPECT_TRUE(entry.container.mounts.empty());
  EXPECT_EQ(code_.answer->use_count(), 2) << "it stays while the job is known";
  catalog_.KeepOnly({});
  EXPECT_EQ(code_.answer->use_count(), 1);
}

TEST_F(CatalogTest, SaysThatItsCodeCannotBeHad) {
  link_.document = R"({"command":["true"],"code":"blob:)" + std::string(64, 'a') + "\"}";
  EXPECT_EQ(Get(), "this machine cannot fetch code: its server keeps none");
  link_.objects = "file:///objects";
  code_.answer = Fail(Code::kInvalid, "'../x' in the archive leads out of it");
  EXPECT_EQ(Get(), "its code: '../x' in the archive leads out of it");
}

TEST_F(CatalogTest, RunsTheImageThatIsPinned) {
  link_.document = R"({"image":"h:5000/a:3","command":["true"]})";
  EXPECT_EQ(Get(), "");
  EXPECT_EQ(catalog_.JobOf({7}).container.image, "h:5000/a:3");
  catalog_.KeepOnly({});
  link_.image_digest = "sha256:" + std::string(64, 'a');
  EXPECT_EQ(Get(), "");
  EXPECT_EQ(catalog_.JobOf({7}).container.image, "h:5000/a@" + link_.image_digest);
}

TEST_F(CatalogTest, SaysWhatIsWrongWithALoginAndDoesNotShowIt) {
  link_.document = R"({"image":"h:5000/a","command":["true"],"image_login":"reg"})";
  link_.secrets = Secrets{{"reg", "canary"}};
  EXPECT_EQ(Get(), "secret 'reg' of image_login: a registry's login must be USER:PASSWORD");
  link_.secrets = Secrets{};
  EXPECT_EQ(Get(), "secret 'reg' does not exist in this project; set it: tidemill secret set reg");
}

TEST_F(CatalogTest, AValueWithANulCanBeAFileOnly) {
  link_.document = R"({"command":["true"],"secrets":[{"name":"key","env":"KEY"}]})";
  link_.secrets = Secrets{{"key", std::string("canary\0", 7)}};
  EXPECT_EQ(Get(),
            "secret 'key' has a NUL, so it cannot be the variable 'KEY'; let the job have it as a "
            "file");
  link_.document = R"({"command":["true"],"secrets":[{"name":"key","file":"KEY"}]})";
  EXPECT_EQ(Get(), "");
}

TEST_F(CatalogTest, AsksForSecretsAgainAndAgainWhileTheServersAreAway) {
  link_.document = R"({"command":["true"],"secrets":["A"]})";
  link_.secrets = Secrets{{"A", "a"}};
  link_.outages = 6;
  EXPECT_EQ(Get(seconds(20)), "");
  EXPECT_EQ(link_.secrets_asked, 7);
  EXPECT_EQ(link_.jobs_asked, 1);
}

TEST_F(CatalogTest, HasAChangedValueWhenTheJobIsFetchedAnew) {
  link_.document = R"({"command":["true"],"secrets":["A"]})";
  link_.secrets = Secrets{{"A", "old"}};
  EXPECT_EQ(Get(), "");
  link_.secrets = Secrets{{"A", "new"}};
  catalog_.KeepOnly({kChunk});
  EXPECT_EQ(Get(), "");
  EXPECT_TRUE(Has(Make(), "A=old"));
  catalog_.KeepOnly({});
  EXPECT_EQ(Get(), "");
  EXPECT_TRUE(Has(Make(), "A=new"));
}

TEST_F(CatalogTest, LetsGoOfSecretsWithTheirJob) {
  link_.document = R"({"command":["true"],"secrets":["A"]})";
  link_.secrets = Secrets{{"A", "a"}};
  EXPECT_EQ(Get(), "");
  const std::weak_ptr<const JobSecrets> secrets = catalog_.JobOf({7}).secrets;
  EXPECT_FALSE(secrets.expired());
  catalog_.KeepOnly({});
  EXPECT_TRUE(secrets.expired());
}

}  // namespace
}  // namespace tidemill
