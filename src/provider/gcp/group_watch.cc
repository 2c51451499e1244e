// SPDX-License-Identifier: Apache-2.0
#include "provider/gcp/group_watch.h"

#include <algorithm>
#include <utility>

#include "provider/gcp/requests.h"

namespace tidemill {
namespace {

// Longer than Google takes for one operation: whatever ended within kEndsKept was begun since then.
constexpr Duration kHistory = kEndsKept + std::chrono::minutes(30);

template <typename T>
Result<std::vector<T>> ParseAll(const Tree::List& rows, Result<T> (*parse)(const Tree&)) {
  std::vector<T> all;
  for (const Tree& row : rows) {
    TIDEMILL_TRY(T one, parse(row));
    all.push_back(std::move(one));
  }
  return all;
}

bool IsOlder(const Tree::List& operations, TimePoint than) {
  if (operations.empty()) return false;
  const auto last = ParseOperation(operations.back());
  return last && last->begun < than;
}

}  // namespace

GroupWatch::GroupWatch(ComputeApi& api, GcpNames names, GcpPool pool)
    : api_(api), names_(std::move(names)), pool_(std::move(pool)) {}

ComputeAsk GroupWatch::Ask(const std::string& path, std::string query) const {
  return {.project = pool_.project, .path = path, .query = std::move(query)};
}

std::vector<ListedAt> GroupWatch::Listed() const {
  std::vector<ListedAt> listed;
  for (const auto& [name, machine] : memory_.machines) {
    listed.push_back(machine);
    // Of a name alone nobody can be sure: others have projects too.
    listed.back().id = pool_.project + "/" + pool_.zone + "/" + machine.id;
  }
  return listed;
}

bool GroupWatch::IsBusy() const {
  return busy_ > 0 || std::any_of(view_.managed.begin(), view_.managed.end(),
                                  [](const auto& one) { return one.action != "NONE"; });
}

bool GroupWatch::IsFresh() const {
  if (seen_ == TimePoint{}) return false;
  const Duration age = api_.options().clock() - seen_;
  // A clock that was set back makes nothing fresh.
  return age >= Duration::zero() &&
         age < (IsBusy() ? api_.options().keep_busy : api_.options().keep);
}

void GroupWatch::Look(Done done) {
  if (!looking_ && IsFresh()) {
    return api_.After(Duration::zero(), [done = std::move(done)] { done({}); });
  }
  waiting_.push_back(std::move(done));
  if (!looking_) Start();
}

void GroupWatch::LookAnew(Done done) {
  (looking_ ? waiting_anew_ : waiting_).push_back(std::move(done));
  if (!looking_) Start();
}

void GroupWatch::Start() {
  looking_ = true;
  reading_ = {};
  ReadManaged();
}

void GroupWatch::ReadManaged() {
  ComputeAsk ask = Ask(GroupPath(pool_, names_) + "/listManagedInstances", ManagedQuery());
  ask.method = "POST";
  api_.Pages(std::move(ask), {.field = "managedInstances"}, [this](Result<Tree::List> rows) {
    // A group that is not there has no machines.
    if (!rows && rows.error().code == Code::kNotFound) rows = Tree::List();
    if (!rows) return Finish(tl::unexpected<Error>(rows.error()));
    auto managed = ParseAll<ManagedInstance>(*rows, ParseManaged);
    if (!managed) return Finish(tl::unexpected<Error>(managed.error()));
    reading_.managed = *std::move(managed);
    ReadInstances();
  });
}

void GroupWatch::ReadInstances() {
  api_.Pages(Ask(ZonePath(pool_) + "/instances", InstancesQuery(names_)), {},
             [this](const Result<Tree::List>& rows) {
               if (!rows) return Finish(tl::unexpected<Error>(rows.error()));
               auto instances = ParseAll<GcpInstance>(*rows, ParseInstance);
               if (!instances) return Finish(tl::unexpected<Error>(instances.error()));
               reading_.instances = *std::move(instances);
               if (NeedsHistory(memory_, names_, reading_)) return ReadHistory();
               Understand({});
             });
}

void GroupWatch::ReadHistory() {
  const TimePoint oldest = api_.options().clock() - kHistory;
  ComputeApi::PageRules rules{
      .is_enough = [oldest](const Tree::List& rows) { return IsOlder(rows, oldest); },
      .is_cut = true};
  api_.Pages(Ask(ZonePath(pool_) + "/operations", OperationsQuery(names_)), std::move(rules),
             [this](const Result<Tree::List>& rows) {
               if (!rows) return Finish(tl::unexpected<Error>(rows.error()));
               const auto history = ParseAll<GcpOperation>(*rows, ParseOperation);
               if (!history) return Finish(tl::unexpected<Error>(history.error()));
               Understand(*history);
             });
}

void GroupWatch::Understand(const std::vector<GcpOperation>& history) {
  view_ = std::exchange(reading_, {});
  seen_ = api_.options().clock();
  std::vector<std::string> away =
      Notice(memory_, names_, view_, history, {.now = seen_, .owned = pool_.group.empty()});
  if (!away.empty() && !taking_out_) {
    taking_out_ = true;
    // Whether it worked, the next look shows.
    TakeOut(std::move(away), api_.Now() + api_.options().limit,
            [this](const Result<void>&) { taking_out_ = false; });
  }
  Finish({});
}

void GroupWatch::Finish(const Result<void>& result) {
  looking_ = false;
  std::vector<Done> told = std::exchange(waiting_, std::exchange(waiting_anew_, {}));
  if (!waiting_.empty()) Start();
  for (const Done& done : told) done(result);
}

void GroupWatch::TakeOut(std::vector<std::string> instances, TimePoint until, Done done) {
  std::vector<std::string> rest;
  if (instances.size() > kGcpBatch) {
    rest.assign(instances.begin() + kGcpBatch, instances.end());
    instances.resize(kGcpBatch);
  }
  ComputeAsk ask = Ask(GroupPath(pool_, names_) + "/deleteInstances", "");
  ask.method = "POST";
  ask.body = DeleteInstancesBody(pool_, instances);
  api_.Run(std::move(ask), until,
           [this, until, rest = std::move(rest), done = std::move(done)](Result<void> ended) {
             seen_ = {};
             // A group that is not there has none of them.
             if (!ended && ended.error().code == Code::kNotFound) return done({});
             if (!ended || rest.empty()) return done(std::move(ended));
             TakeOut(rest, until, done);
           });
}

}  // namespace tidemill
