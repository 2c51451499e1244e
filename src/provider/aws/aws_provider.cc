// SPDX-License-Identifier: Apache-2.0
#include "provider/aws/aws_provider.h"

#include <algorithm>

#include "cloud/aws_profile.h"
#include "provider/aws/group_requests.h"
#include "provider/aws/prepare.h"

namespace tidemill {
namespace {

// Whoever leads lists each second: so a pool in which nothing happens costs two calls in so long.
constexpr Duration kLookEvery = std::chrono::seconds(5);
// While machines come or go.
constexpr Duration kLookOften = std::chrono::seconds(1);
// After a change that AWS did not let us make: it is not repeated each second.
constexpr Duration kTidyRest = std::chrono::seconds(30);

std::string RegionOf(const CloudWorld& world) {
  // A profile that is wrong is told by the credentials.
  const auto profile = LoadAwsProfile(world);
  return AwsRegion(world, profile ? *profile : AwsProfile{});
}

bool IsSettling(const AwsView& view) {
  return std::any_of(view.instances.begin(), view.instances.end(), [](const AwsInstance& each) {
    return each.state == AwsInstance::State::kEnding || each.place == AwsInstance::Place::kLeaving;
  });
}

Refused RefuseAll(const std::vector<MachineOrder>& machines, const std::string& words) {
  Refused refused{{}, words, {}};
  for (const MachineOrder& each : machines) refused.names.push_back(each.name);
  return refused;
}

}  // namespace

AwsProvider::AwsProvider(AsioLoop& loop, Random& random, Log& log, AwsOptions options)
    : log_(log),
      region_(RegionOf(options.calls.world)),
      make_times_(options.make),
      unordered_(options.unordered),
      calls_(loop, random, options.calls) {}
AwsProvider::~AwsProvider() = default;

AwsProvider::Memory& AwsProvider::MemoryOf(const AwsGroup& group) {
  const auto [place, is_new] = memories_.try_emplace({group.project, group.pool});
  // Whoever led before may have ordered a moment ago.
  if (is_new) place->second.last_order = calls_.Now();
  return place->second;
}

template <typename T>
void AwsProvider::Soon(std::function<void(Result<T>)> done, Result<T> result) {
  calls_.After(Duration::zero(),
               [done = std::move(done), result = std::move(result)] { done(result); });
}

void AwsProvider::Prepare(const PoolSettings& pool, std::function<void(Result<void>)> done) {
  auto settings = AwsSettingsOf(pool, region_);
  if (!settings) return Soon<void>(std::move(done), tl::unexpected<Error>(settings.error()));
  PrepareGroup(calls_, *std::move(settings), std::move(done));
}

void AwsProvider::Remove(const PoolSettings& pool, std::function<void(Result<void>)> done) {
  const auto group = AwsGroupOf(pool, region_);
  if (!group) return Soon<void>(std::move(done), tl::unexpected<Error>(group.error()));
  RemoveGroup(calls_, *group,
              [this, group = *group, done = std::move(done)](const Result<void>& removed) {
                if (removed) calls_.Forget(group);
                done(removed);
              });
}

void AwsProvider::Make(const PoolSettings& pool, std::vector<MachineOrder> machines,
                       std::function<void(Result<Refused>)> done) {
  const auto group = AwsGroupOf(pool, region_);
  if (!group) return Soon<Refused>(std::move(done), RefuseAll(machines, group.error().reason));
  Memory& memory = MemoryOf(*group);
  ++memory.making;
  AwsMakeOrder order{.group = *group, .times = make_times_, .before = memory.before};
  order.ended = memory.machines.Ended();
  for (const MachineOrder& each : machines) order.names.push_back(each.name);
  MakeInGroup(calls_, std::move(order),
              [this, group = *group, machines = std::move(machines),
               done = std::move(done)](const Result<Refused>& refused) {
                Memory& after = MemoryOf(group);
                --after.making;
                after.last_order = calls_.Now();
                const bool is_anothers = !refused && refused.error().code == Code::kConflict;
                if (is_anothers) return done(RefuseAll(machines, refused.error().reason));
                done(refused);
              });
}

void AwsProvider::End(const PoolSettings& pool, std::vector<std::string> names,
                      std::function<void(Result<void>)> done) {
  const auto group = AwsGroupOf(pool, region_);
  if (!group) return Soon<void>(std::move(done), tl::unexpected<Error>(group.error()));
  calls_.Look(*group, kLookOften,
              [this, group = *group, names = std::move(names),
               done = std::move(done)](const Result<AwsView>& view) {
                if (!view) return done(tl::unexpected<Error>(view.error()));
                Memory& memory = MemoryOf(group);
                // Of one that ends now, AWS may not tell again.
                memory.machines.See(*view, calls_.Now());
                memory.is_settling = true;
                calls_.End(group, PlanEnd(*view, names), done);
              });
}

void AwsProvider::List(const PoolSettings& pool,
                       std::function<void(Result<std::vector<ListedAt>>)> done) {
  using Listed = std::vector<ListedAt>;
  const auto group = AwsGroupOf(pool, region_);
  if (!group) return Soon<Listed>(std::move(done), tl::unexpected<Error>(group.error()));
  const Memory& before = MemoryOf(*group);
  const bool is_busy = before.making > 0 || before.is_settling;
  calls_.Look(*group, is_busy ? kLookOften : kLookEvery,
              [this, group = *group, done = std::move(done)](const Result<AwsView>& view) {
                if (!view) return done(tl::unexpected<Error>(view.error()));
                Memory& memory = MemoryOf(group);
                memory.is_settling = IsSettling(*view);
                Listed listed = memory.machines.See(*view, calls_.Now());
                Tidy(group, memory, *view);
                done(std::move(listed));
              });
}

// --- what nobody asked for ---

void AwsProvider::Tidy(const AwsGroup& group, Memory& memory, const AwsView& view) {
  const TimePoint now = calls_.Now();
  if (memory.tidying || now < memory.tidy_after) return;
  // A Make that is under way has the next word on what is there without a name.
  const TimePoint last_order = memory.making > 0 ? TimePoint::max() : memory.last_order;
  const AwsTidyPlan plan = PlanTidy(view, last_order, now, unordered_);
  if (plan.empty()) return;
  memory.tidying = true;
  log_.Info("aws.tidying", {{"group", group.name},
                            {"unnamed", plan.unname.size()},
                            {"ended", plan.end.in_group.size() + plan.end.outside.size()},
                            {"target", plan.target.value_or(view.target)}});
  CarryOut(group, plan, [this, group](const Result<void>& result) {
    Memory& after = MemoryOf(group);
    after.tidying = false;
    calls_.Changed(group);
    if (result) return;
    after.tidy_after = calls_.Now() + kTidyRest;
    log_.Warn("aws.tidy_failed", {{"group", group.name}, {"reason", result.error().reason}});
  });
}

void AwsProvider::CarryOut(const AwsGroup& group, const AwsTidyPlan& plan,
                           const std::function<void(Result<void>)>& done) {
  calls_.Unname(group, plan.unname, [this, group, plan, done](const Result<void>& unnamed) {
    if (!unnamed) return done(unnamed);
    calls_.End(group, plan.end, [this, group, plan, done](const Result<void>& ended) {
      if (!ended || !plan.target) return done(ended);
      calls_.Do(SetTarget(group, *plan.target), done);
    });
  });
}

}  // namespace tidemill
