// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of Google's provider: a project of its own at a stand-in for Google, whose clock
// can be moved, and which can be told to refuse.

#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/wall.h"
#include "net/asio_loop.h"
#include "provider/gcp/answers.h"
#include "provider/gcp/gcp_provider.h"
#include "provider/gcp/names.h"
#include "provider/provider_contract.h"

namespace tidemill {

inline constexpr char kGceZone[] = "europe-west4-a";

// Of the stand-in, with its port.
std::string GceHost();

class GceWorld : public ProviderWorld {
 public:
  // What the pools of a world are.
  enum class Kind { kStandard, kSpot, kAdopted };

  explicit GceWorld(Kind a_kind = Kind::kSpot) : kind(a_kind) {
    static int worlds = 0;
    const std::string host = GceHost();
    project = "test-" + std::to_string(getpid()) + "-" + std::to_string(++worlds);
    url_ = "http://" + host;
    world.environment = {{"GCE_METADATA_HOST", host},
                         {"CLOUDSDK_CONFIG", "/nowhere"},
                         {"CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE", url_ + "/compute/v1/"}};
    world.now_ms = [this] { return Now().time_since_epoch().count() / 1000; };
    options.poll = std::chrono::milliseconds(20);
    options.limit = std::chrono::seconds(10);
    options.retry_wait = std::chrono::milliseconds(5);
    options.clock = [this] { return Now(); };
    Control("");
    Restart();
  }

  Provider& provider() override { return *provider_; }
  std::unique_ptr<GcpProvider> Another() {
    return std::make_unique<GcpProvider>(loop, random, world, options);
  }
  void Restart() override { provider_ = Another(); }

  void RunUntil(const std::function<bool()>& is_true) override {
    const auto until = loop.Now() + std::chrono::seconds(30);
    while (!is_true()) {
      ASSERT_LT(loop.Now(), until) << "not in time";
      const TimerId timer = loop.After(std::chrono::milliseconds(1), [this] { loop.Stop(); });
      loop.Run();
      loop.Cancel(timer);
    }
  }
  // The clock jumps, here and at Google's; what is real gets a moment.
  void Pass(Duration time) override {
    ahead_ += time;
    Control(R"("ahead_s":)" + std::to_string(static_cast<double>(ahead_.count()) / 1e6));
  }
  TimePoint Now() const override { return TimePoint(std::chrono::milliseconds(WallMs())) + ahead_; }
  void Set(PoolSettings& pool) override {
    pool.machines.provider = "gcp";
    pool.machines.spot = kind == Kind::kSpot;
    pool.machines.options = R"({"project":")" + project + R"(","zone":")" + kGceZone + '"';
    if (kind == Kind::kAdopted) {
      const std::string group = "own-" + pool.pool.project + "-" + pool.pool.name;
      MakeOwnGroup(group);
      pool.machines.options += R"(,"group":")" + group + R"("})";
    } else {
      pool.machines.options += R"(,"type":"e2-standard-4","image":"machine"})";
    }
  }
  void SetCapacity(PoolSettings&, std::int64_t machines) override {
    Control(R"("capacity":)" + std::to_string(machines));
  }
  void Kill(const PoolSettings& pool, const std::string& name) override {
    EndInstance(InstanceOf(pool, name), "compute.instances.preempted");
  }

  static std::string InstanceOf(const PoolSettings& pool, const std::string& name) {
    return *GcpNames(pool.pool.project, pool.pool.name).InstanceOf(name);
  }
  // Something behind the group's back.
  void EndInstance(const std::string& instance, const std::string& how) {
    Control(R"("end":")" + instance + R"(","how":")" + how + '"');
  }
  // Sets something of the project, and gives what it has.
  Tree Control(const std::string& fields) {
    const std::string body =
        R"({"project":")" + project + '"' + (fields.empty() ? "" : ",") + fields + "}";
    return Raw("POST", "/_control", body);
  }
  std::size_t CountCalls(const std::string& word) {
    std::size_t count = 0;
    const Tree state = Control("");
    for (const Tree& call : ListField(state, "calls")) {
      count += std::get<std::string>(call.value).find(word) == std::string::npos ? 0 : 1;
    }
    return count;
  }
  std::vector<std::string> Has(const std::string& field) {
    std::vector<std::string> names;
    const Tree state = Control("");
    for (const Tree& name : ListField(state, field)) {
      names.push_back(std::get<std::string>(name.value));
    }
    return names;
  }
  std::int64_t TargetOf(const std::string& group) {
    const Tree state = Control("");
    const Tree* size = FieldOf(*FieldOf(state, "groups"), std::string(kGceZone) + "/" + group);
    return size == nullptr ? -1 : std::get<std::int64_t>(size->value);
  }
  // Somebody else calls Google.
  Tree Somebody(const std::string& method, const std::string& path, const std::string& body) {
    return Raw(method, "/compute/v1/projects/" + project + path, body);
  }

  AsioLoop loop;
  SeededRandom random{1};
  CloudWorld world;
  GcpOptions options;
  std::string project;
  const Kind kind;

 private:
  Tree Raw(const std::string& method, const std::string& target, const std::string& body) {
    HttpClient client(loop, *ParseUrl(url_));
    HttpCall call{.method = method, .target = target, .body = body};
    if (!body.empty()) call.content_type = "application/json";
    call.headers.emplace_back("Authorization", "Bearer a-token-of-the-stand-in");
    Result<Tree> answer = Fail(Code::kInternal, "no answer");
    bool is_over = false;
    client.Send(std::move(call), [&](const Result<HttpResponse>& got) {
      is_over = true;
      if (got && got->status == 200) answer = ParseTree(got->body);
      if (got && got->status != 200) answer = Fail(Code::kInvalid, got->body);
    });
    RunUntil([&] { return is_over; });
    EXPECT_TRUE(answer) << target << " " << body << ": " << answer.error().reason;
    return answer ? *answer : Tree();
  }
  // As a person has made it: the group makes anew what was taken away.
  void MakeOwnGroup(const std::string& name) {
    const std::string own = "own-template";
    const auto names = Has("templates");
    if (names.empty()) {
      Somebody("POST", "/global/instanceTemplates",
               R"({"name":")" + own + R"(","properties":{"machineType":"e2-small","disks":[],)" +
                   R"("networkInterfaces":[],"scheduling":{"automaticRestart":false,)" +
                   R"("provisioningModel":"SPOT","instanceTerminationAction":"DELETE"}}})");
      RunUntil([&] { return !Has("templates").empty(); });
    }
    Somebody("POST", std::string("/zones/") + kGceZone + "/instanceGroupManagers",
             R"({"name":")" + name + R"(","baseInstanceName":"own","targetSize":0,)" +
                 R"("instanceTemplate":"projects/)" + project + "/global/instanceTemplates/" + own +
                 R"("})");
    RunUntil([&] { return TargetOf(name) == 0; });
  }

  std::string url_;
  Duration ahead_{};
  std::unique_ptr<GcpProvider> provider_;
};

}  // namespace tidemill
