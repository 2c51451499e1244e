// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/several.h"
#include "cloud/aws_query.h"
#include "provider/aws/group.h"
#include "provider/aws/group_plan.h"

namespace tidemill {

struct AwsCallOptions {
  CloudWorld world = {};
  AwsQueryLimits limits = {};
  // Instances that are changed at once; the bucket holds them back beyond that.
  std::size_t changes_at_once = 4;
};

// Looks at groups and changes them. What was seen is kept for a moment, until something is changed;
// who looks while another does waits for the same answer. Loop thread only. Nothing survives a
// restart.
class GroupCalls {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;

  // Loop and random outlive it.
  GroupCalls(AsioLoop& loop, Random& random, const AwsCallOptions& options);
  // What is under way is not answered.
  ~GroupCalls() = default;
  GroupCalls(const GroupCalls&) = delete;
  GroupCalls& operator=(const GroupCalls&) = delete;

  // Younger than `age`; zero: anew. kConflict: the group of that name is not the pool's.
  void Look(const AwsGroup& group, Duration age, Done<AwsView> done);
  // Somebody has changed something: what was seen before is not told any more.
  void Changed(const AwsGroup& group);
  void Forget(const AwsGroup& group);

  void Call(AwsAction action, AwsQuery::Done done) {
    query_.Call(std::move(action), std::move(done));
  }
  // Where only success matters.
  void Do(AwsAction action, Done<void> done);
  void Pages(AwsAction action, AwsQuery::PagesDone done) {
    query_.Pages(std::move(action), std::move(done));
  }
  // An instance that is gone by now is no error.
  void Name(const AwsGroup& group, std::vector<AwsNaming> namings, Done<void> done);
  void Unname(const AwsGroup& group, std::vector<AwsNaming> namings, Done<void> done);
  void End(const AwsGroup& group, const AwsEndPlan& plan, Done<void> done);

  void After(Duration wait, std::function<void()> call);
  TimePoint Now() const;  // since 1970
  AsioLoop& loop() { return loop_; }

 private:
  // One look, and all who wait for it.
  struct Flight {
    std::int64_t changes = 0;  // before it began
    TimePoint at{};
    std::optional<XmlElement> group = {};
    std::optional<std::vector<XmlElement>> instances = {};
    std::vector<Done<AwsView>> waiting = {};
  };
  struct Seen {
    std::int64_t changes = 0;
    std::optional<AwsView> view = {};
    std::int64_t view_changes = 0;
    TimePoint at{};
    std::shared_ptr<Flight> flight = {};
  };
  using Key = std::pair<std::string, std::string>;  // region and name
  static Key KeyOf(const AwsGroup& group) { return {group.region, group.name}; }
  void Begin(const AwsGroup& group, const std::shared_ptr<Flight>& flight);
  void Land(const AwsGroup& group, const std::shared_ptr<Flight>& flight, Result<AwsView> view);
  void ChangeEach(const AwsGroup& group, std::size_t count, Several::One one, Done<void> done);
  using Tagging = AwsAction (*)(const AwsGroup&, const std::string& id, const std::string& name);
  void Tag(const AwsGroup& group, std::vector<AwsNaming> namings, Tagging tagging, Done<void> done);
  void EndOne(const AwsGroup& group, const std::string& id, bool in_group, Done<void> done);

  // Constant after construction.
  AsioLoop& loop_;
  const std::function<std::int64_t()> now_ms_;
  const std::size_t changes_at_once_;

  // Loop thread only.
  AwsQuery query_;
  std::map<Key, Seen> seen_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
