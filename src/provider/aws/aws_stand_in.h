// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of the AWS provider: a group that does what moto's never does. It is slow, fails,
// keeps its dead, and has instances that nobody ordered.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cloud/cloud_fixture.h"
#include "provider/aws/aws_provider.h"
#include "wire/time.h"

namespace tidemill {

class AwsStandIn : public CloudFixture {
 protected:
  struct Instance {
    std::string name = {};
    std::string state = "running";
    std::string lifecycle = "InService";  // empty: the group does not have it
    std::string health = "Healthy";
    std::int64_t since_ms = 0;
    std::string reason = {};
  };
  struct Activity {
    std::string status;
    std::string words = {};
  };

  AwsStandIn() {
    world_.environment["AWS_ACCESS_KEY_ID"] = "AK";
    world_.environment["AWS_SECRET_ACCESS_KEY"] = "SK";
    world_.environment["AWS_REGION"] = "eu-west-1";
    world_.environment["AWS_ENDPOINT_URL"] = Url();
    play_ = [this](const HttpRequest& request) { return Answer(request); };
    pool_.pool.project = "films";
    pool_.pool.name = "spot";
    pool_.machines.max = 10;
    pool_.machines.options = R"({"types":["m7i.large"],"image":"ami-1","subnets":["subnet-1"]})";
  }

  AwsOptions Options() const {
    const AwsQueryLimits limits{.first_wait = std::chrono::milliseconds(2), .calls_a_second = 1e6};
    return {.calls = {.world = world_, .limits = limits}, .make = times_};
  }
  AwsProvider& provider() {
    if (!provider_) {
      provider_.emplace(loop_, random_, log_, Options());
    }
    return *provider_;
  }
  Result<Refused> Make(const std::vector<std::string>& names) {
    std::vector<MachineOrder> orders;
    for (const std::string& name : names) orders.push_back({name, "token"});
    return Await<Refused>([&](auto done) { provider().Make(pool_, orders, done); });
  }
  Result<std::vector<ListedAt>> List() {
    return Await<std::vector<ListedAt>>([&](auto done) { provider().List(pool_, done); });
  }
  Result<void> Prepare() {
    return Await<void>([&](auto done) { provider().Prepare(pool_, done); });
  }
  Result<void> Remove() {
    return Await<void>([&](auto done) { provider().Remove(pool_, done); });
  }
  Result<void> End(const std::vector<std::string>& names) {
    return Await<void>([&](auto done) { provider().End(pool_, names, done); });
  }
  std::ptrdiff_t Count(const std::string& action) const {
    return std::count(actions_.begin(), actions_.end(), action);
  }
  // What it does to reach its target.
  void Launch() {
    while (launches_ && Members() < target_) {
      instances_["i-" + std::to_string(++made_)] = {.since_ms = now_ms_};
    }
  }
  std::int64_t Members() const {
    return std::count_if(instances_.begin(), instances_.end(),
                         [](const auto& each) { return each.second.lifecycle == "InService"; });
  }

  static std::string Tag(const std::string& name, const std::string& text) {
    return "<" + name + ">" + text + "</" + name + ">";
  }
  static HttpResponse Refusal(const std::string& code, const std::string& message) {
    return {.status = 400,
            .body = "<E><Error>" + Tag("Code", code) + Tag("Message", message) + "</Error></E>"};
  }
  HttpResponse Answer(const HttpRequest& request) {
    const auto target = ParseTarget("/?" + request.body);
    EXPECT_TRUE(target);
    const auto param = [&target](const char* name) {
      const std::string* value = FindField(target->query, name);
      return value == nullptr ? std::string() : *value;
    };
    const std::string action = param("Action");
    actions_.push_back(action);
    if (refuse_) {
      if (const auto refusal = refuse_(action)) return *refusal;
    }
    return Do(action, param);
  }
  template <typename Param>
  HttpResponse Do(const std::string& action, const Param& param) {
    const std::string id = param(action == "TerminateInstanceInAutoScalingGroup" ? "InstanceId"
                                 : action == "TerminateInstances"                ? "InstanceId.1"
                                                                                 : "ResourceId.1");
    if (action == "SetDesiredCapacity") {
      target_ = std::stoll(param("DesiredCapacity"));
      targets_.push_back(target_);
      if (!fails_with_.empty() && target_ > Members())
        activities_.push_back({"Failed", fails_with_});
      Launch();
    } else if (action == "CreateTags") {
      instances_.at(id).name = param("Tag.1.Value");
    } else if (action == "DeleteTags") {
      if (instances_.at(id).name == param("Tag.1.Value")) instances_.at(id).name.clear();
    } else if (action == "TerminateInstanceInAutoScalingGroup") {
      if (instances_.at(id).lifecycle.empty()) {
        return Refusal("ValidationError", "Instance Id not found");
      }
      EXPECT_EQ(param("ShouldDecrementDesiredCapacity"), "true");
      instances_.at(id).state = "terminated";
      instances_.at(id).lifecycle = "";
      --target_;
    } else if (action == "TerminateInstances") {
      instances_.at(id).state = "terminated";
    } else if (action == "DescribeInstances") {
      return {.body = Instances()};
    } else if (action == "DescribeAutoScalingGroups") {
      return {.body = Groups()};
    } else if (action == "DescribeScalingActivities") {
      return {.body = Activities()};
    }
    return {.body = "<R/>"};
  }
  std::string Instances() const {
    std::string items;
    for (const auto& [id, each] : instances_) {
      if (each.state.empty()) continue;  // EC2 does not tell of it
      const std::string tag = Tag("key", "tidemill-machine") + Tag("value", each.name);
      items += Tag("item", Tag("instanceId", id) + Tag("instanceState", Tag("name", each.state)) +
                               Tag("reason", each.reason) +
                               Tag("launchTime", FormatTime(each.since_ms)) +
                               Tag("tagSet", each.name.empty() ? "" : Tag("item", tag)));
    }
    return Tag("R", Tag("reservationSet", Tag("item", Tag("instancesSet", items))));
  }
  std::string Groups() const {
    std::string members;
    for (const auto& [id, each] : instances_) {
      if (each.lifecycle.empty()) continue;
      members += Tag("member", Tag("InstanceId", id) + Tag("LifecycleState", each.lifecycle) +
                                   Tag("HealthStatus", each.health));
    }
    std::string tags;
    for (const auto& [key, value] : tags_) {
      tags += Tag("member", Tag("Key", key) + Tag("Value", value));
    }
    const std::string group =
        Tag("member", Tag("AutoScalingGroupName", group_) + Tag("MaxSize", std::to_string(max_)) +
                          Tag("DesiredCapacity", std::to_string(target_)) +
                          Tag("Instances", members) + Tag("Tags", tags));
    return Tag("R", Tag("DescribeAutoScalingGroupsResult",
                        Tag("AutoScalingGroups", group_.empty() ? "" : group)));
  }
  std::string Activities() const {
    std::string members;
    for (std::size_t i = activities_.size(); i-- > 0;) {
      members += Tag("member", Tag("ActivityId", std::to_string(i)) +
                                   Tag("StatusCode", activities_[i].status) +
                                   Tag("StatusMessage", activities_[i].words));
    }
    return Tag("R", Tag("DescribeScalingActivitiesResult", Tag("Activities", members)));
  }

  PoolSettings pool_;
  AwsMakeTimes times_{.whole = std::chrono::seconds(20),
                      .first_look = std::chrono::milliseconds(1),
                      .look_every = std::chrono::milliseconds(5)};
  SeededRandom random_{1};
  NullLog log_;

  // The group, and what it does.
  std::string group_ = "tidemill-films-spot";
  std::map<std::string, std::string> tags_{{"tidemill-project", "films"},
                                           {"tidemill-pool", "spot"}};
  std::int64_t max_ = 10;
  std::int64_t target_ = 0;
  bool launches_ = true;
  std::string fails_with_;
  std::map<std::string, Instance> instances_;
  std::vector<Activity> activities_;
  int made_ = 0;
  // Asked before each action: an answer instead of it.
  std::function<std::optional<HttpResponse>(const std::string& action)> refuse_;

  std::vector<std::string> actions_;
  std::vector<std::int64_t> targets_;
  std::optional<AwsProvider> provider_;
};

}  // namespace tidemill
