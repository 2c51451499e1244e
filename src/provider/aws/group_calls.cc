// SPDX-License-Identifier: Apache-2.0
#include "provider/aws/group_calls.h"

#include <algorithm>

#include "provider/aws/group_answers.h"
#include "provider/aws/group_requests.h"

namespace tidemill {
namespace {

// What is gone needs no change any more.
Result<void> FineIfGone(const Result<XmlElement>& answer) {
  if (answer || answer.error().code == Code::kNotFound) return {};
  return tl::unexpected<Error>(answer.error());
}

}  // namespace

GroupCalls::GroupCalls(AsioLoop& loop, Random& random, const AwsCallOptions& options)
    : loop_(loop),
      now_ms_(options.world.now_ms),
      changes_at_once_(options.changes_at_once),
      query_(loop, random, options.world, options.limits) {}

void GroupCalls::After(Duration wait, std::function<void()> call) {
  loop_.After(wait, [alive = std::weak_ptr<char>(alive_), call = std::move(call)] {
    if (!alive.expired()) call();
  });
}

TimePoint GroupCalls::Now() const { return TimePoint(std::chrono::milliseconds(now_ms_())); }

void GroupCalls::Do(AwsAction action, Done<void> done) {
  query_.Call(std::move(action), [done = std::move(done)](const Result<XmlElement>& answer) {
    if (!answer) return done(tl::unexpected<Error>(answer.error()));
    done({});
  });
}

// --- looking ---

void GroupCalls::Look(const AwsGroup& group, Duration age, Done<AwsView> done) {
  Seen& seen = seen_[KeyOf(group)];
  const Duration passed = Now() - seen.at;
  const bool is_good =
      seen.view && seen.view_changes == seen.changes && passed >= Duration::zero() && passed < age;
  if (is_good) {
    return After(Duration::zero(),
                 [done = std::move(done), view = *seen.view] { done(Result<AwsView>(view)); });
  }
  if (seen.flight && seen.flight->changes == seen.changes) {
    return seen.flight->waiting.push_back(std::move(done));
  }
  seen.flight = std::make_shared<Flight>();
  seen.flight->changes = seen.changes;
  seen.flight->at = Now();
  seen.flight->waiting.push_back(std::move(done));
  Begin(group, seen.flight);
}

void GroupCalls::Begin(const AwsGroup& group, const std::shared_ptr<Flight>& flight) {
  const auto land = [this, group, flight] {
    if (!flight->group || !flight->instances) return;
    AwsView view = ReadView(group, *flight->group, *flight->instances);
    if (view.exists && !view.ours && !group.adopted) {
      return Land(group, flight,
                  Fail(Code::kConflict, "the Auto Scaling group " + group.name +
                                            " is there, but was not made for this pool"));
    }
    Land(group, flight, std::move(view));
  };
  query_.Call(DescribeGroup(group), [this, group, flight, land](Result<XmlElement> answer) {
    if (!answer) return Land(group, flight, tl::unexpected<Error>(answer.error()));
    flight->group = *std::move(answer);
    land();
  });
  query_.Pages(DescribeInstances(group),
               [this, group, flight, land](Result<std::vector<XmlElement>> pages) {
                 if (!pages) return Land(group, flight, tl::unexpected<Error>(pages.error()));
                 flight->instances = *std::move(pages);
                 land();
               });
}

void GroupCalls::Land(const AwsGroup& group, const std::shared_ptr<Flight>& flight,
                      Result<AwsView> view) {
  const auto found = seen_.find(KeyOf(group));
  if (found != seen_.end()) {
    Seen& seen = found->second;
    if (seen.flight == flight) seen.flight.reset();
    if (view && (!seen.view || seen.view_changes <= flight->changes)) {
      seen.view = *view;
      seen.view_changes = flight->changes;
      seen.at = flight->at;
    }
  }
  const std::weak_ptr<char> alive = alive_;
  // If one of the two calls fails, there is nobody left to hear of the other.
  for (Done<AwsView>& done : std::exchange(flight->waiting, {})) {
    if (alive.expired()) return;
    done(view);
  }
}

void GroupCalls::Changed(const AwsGroup& group) { ++seen_[KeyOf(group)].changes; }

void GroupCalls::Forget(const AwsGroup& group) { seen_.erase(KeyOf(group)); }

// --- changing ---

void GroupCalls::ChangeEach(const AwsGroup& group, std::size_t count, Several::One one,
                            Done<void> done) {
  if (count == 0) return done({});
  Several::Run(count, changes_at_once_, std::move(one),
               [this, group, done = std::move(done)](Result<void> all) {
                 Changed(group);
                 done(std::move(all));
               });
}

void GroupCalls::Name(const AwsGroup& group, std::vector<AwsNaming> namings, Done<void> done) {
  Tag(group, std::move(namings), NameInstance, std::move(done));
}

void GroupCalls::Unname(const AwsGroup& group, std::vector<AwsNaming> namings, Done<void> done) {
  Tag(group, std::move(namings), UnnameInstance, std::move(done));
}

void GroupCalls::Tag(const AwsGroup& group, std::vector<AwsNaming> namings, Tagging tagging,
                     Done<void> done) {
  const std::size_t count = namings.size();
  const auto one = [this, group, tagging, namings = std::move(namings)](std::size_t i,
                                                                        Done<void> tagged) {
    query_.Call(tagging(group, namings[i].id, namings[i].name),
                [tagged](const Result<XmlElement>& answer) { tagged(FineIfGone(answer)); });
  };
  ChangeEach(group, count, one, std::move(done));
}

void GroupCalls::EndOne(const AwsGroup& group, const std::string& id, bool in_group,
                        Done<void> done) {
  if (!in_group) {
    return query_.Call(EndOutside(group, id),
                       [done](const Result<XmlElement>& answer) { done(FineIfGone(answer)); });
  }
  query_.Call(EndInGroup(group, id), [this, group, id, done](const Result<XmlElement>& answer) {
    // It has left the group meanwhile.
    if (!answer && IsAwsError(answer.error(), "ValidationError")) {
      return EndOne(group, id, false, done);
    }
    done(FineIfGone(answer));
  });
}

void GroupCalls::End(const AwsGroup& group, const AwsEndPlan& plan, Done<void> done) {
  const std::size_t inside = plan.in_group.size();
  const auto one = [this, group, plan, inside](std::size_t i, Done<void> ended) {
    const bool in_group = i < inside;
    EndOne(group, in_group ? plan.in_group[i] : plan.outside[i - inside], in_group,
           std::move(ended));
  };
  ChangeEach(group, inside + plan.outside.size(), one, std::move(done));
}

}  // namespace tidemill
