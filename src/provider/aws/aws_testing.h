// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of the AWS provider: moto's server, and a clock that can be moved.

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/wall.h"
#include "cloud/aws_query.h"
#include "net/asio_loop.h"
#include "provider/aws/aws_provider.h"
#include "provider/provider_contract.h"

namespace tidemill {

// One that moto knows.
inline constexpr char kMotoImage[] = "ami-03cf127a";

class AwsMotoWorld : public ProviderWorld {
 public:
  // The URL of its server.
  explicit AwsMotoWorld(const char* url) {
    if (url == nullptr) throw std::runtime_error("run under tools/with_moto.py");
    // What has ended stays in moto for ever: each world has a region of its own.
    static constexpr std::array kRegions = {
        "us-east-1",      "us-east-2",      "us-west-1",      "us-west-2",      "eu-west-1",
        "eu-west-2",      "eu-west-3",      "eu-central-1",   "eu-north-1",     "eu-south-1",
        "ap-south-1",     "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-southeast-1",
        "ap-southeast-2", "ap-southeast-3", "ap-east-1",      "ca-central-1",   "sa-east-1",
        "me-south-1",     "me-central-1",   "af-south-1",     "eu-central-2",   "eu-south-2"};
    static std::size_t next = 0;
    if (next == kRegions.size()) throw std::runtime_error("more worlds than regions");
    region = kRegions[next++];
    world.environment = {{"AWS_ACCESS_KEY_ID", "AK"},
                         {"AWS_SECRET_ACCESS_KEY", "SK"},
                         {"AWS_REGION", region},
                         {"AWS_ENDPOINT_URL", url}};
    // AWS tells whole seconds.
    world.now_ms = [this] { return WallMs() / 1000 * 1000 + ahead_ms_; };
    query_.emplace(loop, random_, world, Limits());
    const XmlElement answer = Call("ec2", "DescribeSubnets", {});
    for (const XmlElement& each : answer.Find("subnetSet")->children) {
      subnets.push_back(each.At("subnetId"));
    }
    Restart();
  }

  Provider& provider() override { return *provider_; }
  std::unique_ptr<AwsProvider> Another() {
    // Moto loses changes that come at once.
    const AwsCallOptions calls{.world = world, .limits = Limits(), .changes_at_once = 1};
    return std::make_unique<AwsProvider>(loop, random_, log_, AwsOptions{.calls = calls});
  }
  void Restart() override { provider_ = Another(); }

  void RunUntil(const std::function<bool()>& is_true) override {
    const auto until = loop.Now() + std::chrono::seconds(60);
    while (!is_true()) {
      ASSERT_LT(loop.Now(), until) << "not in time";
      RunFor(std::chrono::milliseconds(2));
    }
  }
  // The clock jumps; what is real gets a moment.
  void Pass(Duration time) override {
    RunFor(std::chrono::milliseconds(20));
    ahead_ms_ += std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  }
  TimePoint Now() const override { return TimePoint(std::chrono::milliseconds(world.now_ms())); }

  void Set(PoolSettings& pool) override {
    pool.machines.max = 50;
    pool.machines.spot = true;
    std::string list;
    for (const std::string& each : subnets) {
      list.append(list.empty() ? "" : ",").append("\"" + each + "\"");
    }
    pool.machines.options = R"({"types":["m5.large","m6i.large"],"image":")" +
                            std::string(kMotoImage) + R"(","subnets":[)" + list + "]}";
  }
  void SetCapacity(PoolSettings& pool, std::int64_t machines) override {
    pool.machines.max = machines;
    std::optional<Result<void>> prepared;
    provider().Prepare(pool, [&prepared](const Result<void>& result) { prepared = result; });
    RunUntil([&prepared] { return prepared.has_value(); });
    ASSERT_TRUE(*prepared) << prepared->error().reason;
  }
  void Kill(const PoolSettings& pool, const std::string& name) override {
    const auto ids = IdsOf(pool, name);
    ASSERT_EQ(ids.size(), 1U);
    Call("ec2", "TerminateInstances", {{"InstanceId.1", ids[0]}});
  }

  static std::string GroupOf(const PoolSettings& pool) {
    return "tidemill-" + pool.pool.project + "-" + pool.pool.name;
  }
  // Of those that run; without a name: all of them.
  std::vector<std::string> IdsOf(const PoolSettings& pool, const std::string& name = "") {
    HttpFields filters{{"Filter.1.Name", "tag:aws:autoscaling:groupName"},
                       {"Filter.1.Value.1", GroupOf(pool)},
                       {"Filter.2.Name", "instance-state-name"},
                       {"Filter.2.Value.1", "running"}};
    if (!name.empty()) {
      filters.emplace_back("Filter.3.Name", "tag:tidemill-machine");
      filters.emplace_back("Filter.3.Value.1", name);
    }
    std::vector<std::string> ids;
    const XmlElement answer = Call("ec2", "DescribeInstances", filters);
    for (const XmlElement& reservation : answer.Find("reservationSet")->children) {
      for (const XmlElement& each : reservation.Find("instancesSet")->children) {
        ids.push_back(each.At("instanceId"));
      }
    }
    return ids;
  }
  std::string TargetOf(const PoolSettings& pool) {
    const XmlElement answer = Call("autoscaling", "DescribeAutoScalingGroups",
                                   {{"AutoScalingGroupNames.member.1", GroupOf(pool)}});
    return answer.At("DescribeAutoScalingGroupsResult/AutoScalingGroups/member/DesiredCapacity");
  }
  XmlElement Call(const std::string& service, const std::string& name, const HttpFields& params) {
    std::optional<Result<XmlElement>> answer;
    query_->Call({service, region, name, params},
                 [&answer](const Result<XmlElement>& got) { answer = got; });
    RunUntil([&answer] { return answer.has_value(); });
    if (!*answer) throw std::runtime_error(name + ": " + answer->error().reason);
    return **answer;
  }

  AsioLoop loop;
  CloudWorld world;
  std::string region;
  std::vector<std::string> subnets;

 private:
  static AwsQueryLimits Limits() { return {.calls_a_second = 1000}; }
  void RunFor(Duration time) {
    const TimerId timer = loop.After(time, [this] { loop.Stop(); });
    loop.Run();
    loop.Cancel(timer);
  }

  std::int64_t ahead_ms_ = 0;
  SeededRandom random_{1};
  NullLog log_;
  std::optional<AwsQuery> query_;
  std::unique_ptr<AwsProvider> provider_;
};

}  // namespace tidemill
