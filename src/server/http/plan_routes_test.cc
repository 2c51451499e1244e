// SPDX-License-Identifier: Apache-2.0
// Why, costs, pools and what a new job asks for, over a store in memory and plans by hand.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/token.h"
#include "server/http/api.h"
#include "server/outlook_testing.h"
#include "server/server_test.h"
#include "store/memory/memory_store.h"
#include "wire/cost_json.h"
#include "wire/job_json.h"
#include "wire/why_json.h"

namespace tidemill {
namespace {

const std::string kPlanProject{kDefaultProject};

// Remembers what it was last asked to make.
class HeardStore : public MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  Result<Job> CreateJob(const NewJob& job) override {
    asked = job;
    return MemoryStore::CreateJob(job);
  }
  NewJob asked;
};

class PlanRoutesTest : public ::testing::Test {
 protected:
  PlanRoutesTest() {
    Become(Role::kAdmin, "anna");
    EXPECT_TRUE(store_.PutPool({kPlanProject, "spot", {}}));
  }

  void Become(Role role, const std::string& name) {
    NewToken token;
    token.id = random_.NewId<TokenId>();
    token.secret = MakeToken(kApiPrefix, random_);
    token.name = name;
    token.project = kPlanProject;
    token.role = role;
    token.life = std::chrono::hours(1000);
    EXPECT_TRUE(store_.CreateToken(token));
    secret_ = token.secret;
  }

  HttpResponse Call(const std::string& method, const std::string& path,
                    const std::string& body = "", HttpFields query = {}) {
    HttpRequest request{.method = method, .path = path, .query = std::move(query), .body = body};
    if (!body.empty()) request.content_type = "application/json";
    request.headers.emplace_back("Authorization", "Bearer " + secret_);
    request.peer = std::make_shared<HttpPeer>();
    std::optional<HttpResponse> answer;
    Api& api = plans_there_ ? api_ : bare_api_;
    api.Handle(std::move(request), [&](HttpResponse response) { answer = std::move(response); });
    for (int i = 0; i < 100'000 && !answer; ++i) loop_.Step();
    return answer.value_or(HttpResponse{.status = 0, .body = "no answer came"});
  }
  HttpResponse Get(const std::string& path) { return Call("GET", path); }

  // A job of nine items, sealed.
  std::string Submit(const std::string& spec = "{}") {
    const HttpResponse made = Call("POST", "/v1/jobs", R"({"name":"render","spec":)" + spec + "}");
    EXPECT_EQ(made.status, 201) << made.body;
    const auto job = ParseJob(made.body);
    if (!job) return "";
    const std::string path = "/v1/jobs/" + PublicId(*job);
    EXPECT_EQ(Call("PUT", path + "/parts/0", R"({"range":9})").status, 200);
    EXPECT_EQ(Call("POST", path + "/seal", R"({"parts":1})").status, 200);
    return PublicId(*job);
  }

  // As the store would see the project: a pool with a machine of 4 cpus for a dollar an hour.
  void Plan(std::int64_t job) {
    Snapshot world;
    Queue queue;
    queue.name = kDefaultQueue;
    queue.pools = {"spot"};
    world.queues = {queue};
    PlanPool pool;
    pool.name = "spot";
    pool.provider = "local";
    pool.shape = {4000, 16 * kOneGiB};
    pool.price = pool.on_demand = {1'000'000};
    pool.max = 10;
    world.pools = {pool};
    PlanJob one;
    one.id = {job};
    one.name = "render-" + std::to_string(job);
    one.queue = kDefaultQueue;
    one.need = {1000, kOneGiB};
    one.waiting = 5;
    one.leased = 4;
    one.times = ItemTimes{100, std::chrono::seconds(60), std::chrono::seconds(6)};
    one.spent = {500'000};
    world.jobs = {one};
    PlanMachine machine;
    machine.id = machine.name = "spot-0";
    machine.pool = "spot";
    machine.state = MachineState::kJoined;
    machine.has = pool.shape;
    machine.price = pool.price;
    machine.ordered = true;
    machine.session = {7, 7};
    machine.leases = {{{job}, 4, ""}};
    world.machines = {machine};
    machine.id = machine.name = "spot-1";
    machine.state = MachineState::kBooting;
    machine.session = {};
    machine.leases.clear();
    world.machines.push_back(machine);
    plans_.snapshots = {TimePoint(std::chrono::hours(5)), {{kPlanProject, world}}};
  }

  SeededRandom random_{1};
  VirtualLoop loop_{random_};
  VirtualWorker worker_{loop_, random_};
  HeardStore store_{[this] { return loop_.Now().time_since_epoch().count(); }};
  ErrorLog log_;
  HandPlans plans_;
  Server server_{{loop_, worker_, worker_, store_, store_, random_, log_, &plans_}, ServerLimits{}};
  Server bare_{{loop_, worker_, worker_, store_, store_, random_, log_}, ServerLimits{}};
  Api api_{server_, store_, random_, log_, {}};
  Api bare_api_{bare_, store_, random_, log_, {}};
  bool plans_there_ = true;
  std::string secret_;
};

TEST_F(PlanRoutesTest, WhyNamesWhatHoldsAJobUp) {
  const std::string job = Submit();
  Plan(1);
  const HttpResponse answer = Get("/v1/jobs/" + job + "/why");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto why = ParseJobWhy(answer.body);
  ASSERT_TRUE(why) << why.error().reason;
  EXPECT_EQ(why->job, "render-1");
  EXPECT_EQ(why->running, 4);
  EXPECT_EQ(why->could_run, 9);
  ASSERT_FALSE(why->reasons.empty());
  EXPECT_EQ(why->reasons[0].code, "waits_for_machines");
  EXPECT_EQ(why->reasons[0].pool, "spot");
  EXPECT_NE(why->reasons[0].sentence, "");
}

TEST_F(PlanRoutesTest, WhyOfAJobThatIsNotPlannedIsItsState) {
  const auto code = [&](const std::string& job) {
    const auto why = ParseJobWhy(Get("/v1/jobs/" + job + "/why").body);
    return why && why->reasons.size() == 1 ? why->reasons[0].code : "";
  };
  const HttpResponse draft = Call("POST", "/v1/jobs", R"({"name":"draft","spec":{}})");
  ASSERT_EQ(draft.status, 201);
  EXPECT_EQ(code("draft-1"), "draft");
  const std::string job = Submit();
  EXPECT_EQ(code(job), "starting");
  EXPECT_EQ(Call("POST", "/v1/jobs/" + job + "/pause").status, 200);
  EXPECT_EQ(code(job), "paused");
  EXPECT_EQ(Call("POST", "/v1/jobs/" + job + "/cancel").status, 200);
  EXPECT_EQ(code(job), "nothing_left");
}

TEST_F(PlanRoutesTest, WhyFindsAMachineByNameOrSession) {
  Plan(1);
  for (const std::string& name : {std::string("spot-0"), ToString(SessionId{7, 7})}) {
    const HttpResponse answer = Get("/v1/machines/" + name + "/why");
    ASSERT_EQ(answer.status, 200) << answer.body;
    const auto why = ParseMachineWhy(answer.body);
    ASSERT_TRUE(why) << why.error().reason;
    EXPECT_EQ(why->machine, "spot-0");
    EXPECT_EQ(why->state, "joined");
    EXPECT_EQ(why->running, 4);
    EXPECT_EQ(why->reasons[0].code, "machine_full");
  }
  EXPECT_EQ(ParseMachineWhy(Get("/v1/machines/spot-1/why").body)->reasons[0].code,
            "machine_booting");
  EXPECT_EQ(Get("/v1/machines/spot-2/why").status, 404);
  auto& machines = plans_.snapshots.projects[0].snapshot.machines;
  machines[0].id = "a/x";
  machines[1].id = "b/x";
  machines[0].name = machines[1].name = "x";
  loop_.After(std::chrono::seconds(2), [] {});
  while (loop_.Step()) {
  }
  const HttpResponse both = Get("/v1/machines/x/why");
  EXPECT_EQ(both.status, 400);
  EXPECT_NE(both.body.find("a/x b/x"), std::string::npos) << both.body;
}

TEST_F(PlanRoutesTest, CostIsWhatWasPutDownAndWhatIsToCome) {
  const std::string job = Submit(R"({"budget":"2.50","deadline":"1h"})");
  Plan(1);
  plans_.money = {{{1},
                   {{Account::kJob, {1}, std::chrono::seconds(1800), {400'000}},
                    {Account::kLost, {1}, std::chrono::seconds(450), {100'001}}}}};
  const HttpResponse answer = Get("/v1/jobs/" + job + "/cost");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto cost = ParseJobCost(answer.body);
  ASSERT_TRUE(cost) << cost.error().reason;
  EXPECT_EQ(cost->spent.micros, 500'001);
  EXPECT_EQ(cost->lost.micros, 100'001);
  EXPECT_EQ(cost->machine_time, std::chrono::seconds(2250));
  EXPECT_EQ(cost->lost_time, std::chrono::seconds(450));
  EXPECT_EQ(cost->items_done, 0);
  EXPECT_FALSE(cost->cost_an_item);
  EXPECT_EQ(cost->budget, Money{2'500'000});
  EXPECT_TRUE(cost->deadline_ms);
  EXPECT_EQ(cost->machines, (MachineCounts{0, 1, 1, 0}));
  EXPECT_EQ(cost->working, 1);
  ASSERT_TRUE(cost->forecast);
  EXPECT_GE(cost->forecast->slots, 4);
  EXPECT_LE(cost->forecast->least, cost->forecast->time);
  EXPECT_LE(cost->forecast->time, cost->forecast->most);
  EXPECT_GT(cost->forecast->cost.micros, 500'000);
}

TEST_F(PlanRoutesTest, ACostWithoutAPlanHasNoForecast) {
  const auto cost = ParseJobCost(Get("/v1/jobs/" + Submit() + "/cost").body);
  ASSERT_TRUE(cost) << cost.error().reason;
  EXPECT_FALSE(cost->forecast);
  EXPECT_EQ(cost->spent.micros, 0);
}

TEST_F(PlanRoutesTest, AProjectsCostsAreByJobTheDearestFirst) {
  Submit();
  Submit();
  plans_.money = {{{1}, {{Account::kJob, {1}, std::chrono::seconds(1), {1'000'000}}}},
                  {{2}, {{Account::kJob, {2}, std::chrono::seconds(2), {2'000'000}}}},
                  {{3}, {{Account::kJob, {3}, std::chrono::seconds(2), {9'000'000}}}}};
  plans_.overhead[kPlanProject] = {{Account::kIdle, {}, std::chrono::seconds(3), {300'000}},
                                   {Account::kBoot, {}, std::chrono::seconds(4), {200'000}}};
  EXPECT_EQ(Get("/v1/costs").body,
            R"({"total":3.5,"spent":3,"lost":0,"idle":0.3,"boot":0.2,"idle_seconds":3,)"
            R"("boot_seconds":4,"jobs":[{"job":"render-2","spent":2,"lost":0,)"
            R"("machine_seconds":2},{"job":"render-1","spent":1,"lost":0,"machine_seconds":1}]})");
}

TEST_F(PlanRoutesTest, PoolsSayWhatIsGoingOn) {
  Plan(1);
  PlanPool& pool = plans_.snapshots.projects[0].snapshot.pools[0];
  pool.never_joined = 3;
  pool.provider_word.words = "no room";
  const auto now = ParsePoolsNow(Get("/v1/pools").body);
  ASSERT_TRUE(now) << now.error().reason;
  ASSERT_TRUE(now->contains("spot"));
  EXPECT_EQ(now->at("spot").machines, (MachineCounts{0, 1, 1, 0}));
  EXPECT_EQ(now->at("spot").hold, "protected");
  EXPECT_EQ(now->at("spot").words, "no room");
  EXPECT_EQ(now->at("spot").never_joined, 3);
  EXPECT_FALSE(now->contains("default"));
  EXPECT_NE(Get("/v1/pools/spot").body.find("\"never_joined\":3"), std::string::npos);
}

TEST_F(PlanRoutesTest, AnOperatorForgivesAPool) {
  Become(Role::kOperator, "olga");
  EXPECT_EQ(Call("POST", "/v1/pools/nowhere/forgive").status, 404);
  EXPECT_EQ(Call("POST", "/v1/pools/spot/forgive", R"({"x":1})").status, 400);
  EXPECT_TRUE(plans_.forgiven.empty());
  EXPECT_EQ(Call("POST", "/v1/pools/spot/forgive").status, 204);
  ASSERT_EQ(plans_.forgiven.size(), 1U);
  EXPECT_EQ(plans_.forgiven[0], std::pair(kPlanProject, std::string("spot")));
}

TEST_F(PlanRoutesTest, ViewersReadAndDoNotForgive) {
  const std::string job = Submit();
  Plan(1);
  Become(Role::kViewer, "vera");
  for (const std::string& path : {"/v1/jobs/" + job + "/why", "/v1/jobs/" + job + "/cost",
                                  std::string("/v1/machines/spot-0/why"), std::string("/v1/costs"),
                                  std::string("/v1/pools")}) {
    EXPECT_EQ(Get(path).status, 200) << path;
    EXPECT_EQ(Call("GET", path, "", {{"x", "1"}}).status, 400) << path;
  }
  EXPECT_EQ(Call("POST", "/v1/pools/spot/forgive").status, 403);
  EXPECT_TRUE(plans_.forgiven.empty());
}

TEST_F(PlanRoutesTest, AServerThatDoesNotPlanSaysSo) {
  const std::string job = Submit();
  plans_there_ = false;
  for (const std::string& path :
       {"/v1/jobs/" + job + "/why", "/v1/jobs/" + job + "/cost",
        std::string("/v1/machines/spot-0/why"), std::string("/v1/costs")}) {
    const HttpResponse answer = Get(path);
    EXPECT_EQ(answer.status, 503) << path;
    EXPECT_NE(answer.body.find("this server does not plan"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(Call("POST", "/v1/pools/spot/forgive").status, 503);
  EXPECT_EQ(Get("/v1/pools").status, 200);
  EXPECT_EQ(Get("/v1/jobs/render-99/why").status, 404);
}

TEST_F(PlanRoutesTest, AStoreThatIsAwayIsTold) {
  const std::string job = Submit();
  plans_.away = true;
  EXPECT_EQ(Get("/v1/jobs/" + job + "/why").status, 503);
  EXPECT_EQ(Get("/v1/pools").status, 200);
}

// --- what a new job asks for ---

TEST_F(PlanRoutesTest, AJobIsItsCallers) {
  const HttpResponse made = Call("POST", "/v1/jobs", R"({"name":"a","spec":{"priority":3}})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(store_.asked.owner, "anna");
  EXPECT_EQ(ParseJob(made.body)->spec.wishes.priority, 3);
}

TEST_F(PlanRoutesTest, AQueueMustBeThere) {
  ASSERT_TRUE(store_.PutQueue(kPlanProject, {.name = "night", .pools = {}, .limits = {}}));
  const auto submit = [&](const std::string& queue) {
    return Call("POST", "/v1/jobs", R"({"name":"a","spec":{"queue":")" + queue + "\"}}");
  };
  EXPECT_EQ(submit("default").status, 201);
  EXPECT_EQ(submit("night").status, 201);
  const HttpResponse wrong = submit("nigth");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_NE(wrong.body.find("spec.queue: there is no queue 'nigth'; did you mean 'night'?"),
            std::string::npos)
      << wrong.body;
  EXPECT_NE(submit("zzzzzzzzz").body.find("known are 'default' 'night'"), std::string::npos);
}

TEST_F(PlanRoutesTest, AJobIsAfterJobsOfItsProject) {
  const std::string first = Submit();
  ASSERT_TRUE(store_.PutProject("books", {}));
  ASSERT_TRUE(store_.CreateJob(
      {.project = "books", .key = "k", .spec = {.name = "b", .resources = {}, .document = "{}"}}));
  const auto submit = [&](const std::string& after) {
    return Call("POST", "/v1/jobs", R"({"name":"a","spec":{"after":[)" + after + "]}}");
  };
  EXPECT_EQ(submit("\"" + first + "\"").status, 201);
  EXPECT_EQ(submit("1").status, 201);
  EXPECT_NE(submit("1,\"film-2\"").body.find("spec.after[1]: there is no job film-2"),
            std::string::npos);
  EXPECT_NE(submit("\"film-1\"").body.find("there is no job film-1; number 1 is render-1"),
            std::string::npos);
  EXPECT_EQ(submit("2").status, 400);
  EXPECT_EQ(submit("999").status, 400);
}

}  // namespace
}  // namespace tidemill
