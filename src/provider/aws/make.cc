// SPDX-License-Identifier: Apache-2.0
#include "provider/aws/make.h"

#include "provider/aws/group_answers.h"
#include "provider/aws/group_requests.h"

namespace tidemill {
namespace {

bool MayPass(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kUnknown ||
         error.code == Code::kConflict;
}

// One Make, look by look. Each look decides anew from what is there, so it does not matter who else
// changes the group meanwhile.
class Making : public std::enable_shared_from_this<Making> {
 public:
  Making(GroupCalls& calls, AwsMakeOrder order, GroupCalls::Done<Refused> done)
      : calls_(calls),
        order_(std::move(order)),
        done_(std::move(done)),
        until_(calls.loop().Now() + order_.times.whole) {}

  void Look() {
    calls_.Look(order_.group, Duration::zero(),
                [self = shared_from_this()](const Result<AwsView>& view) { self->OnView(view); });
  }

 private:
  void OnView(const Result<AwsView>& view);
  void OnNamed(const AwsView& view);
  void Raise();
  // Whether the group says that it cannot.
  void Ask();
  void OnActivities(const std::vector<AwsActivity>& activities);
  void GiveUp(const AwsView& view);
  void Wait(Duration wait);
  void Finish();
  bool Failed(const Result<void>& result) {
    if (!result) done_(tl::unexpected<Error>(result.error()));
    return !result;
  }
  void ReadActivitiesThen(std::function<void(std::vector<AwsActivity>)> then);

  GroupCalls& calls_;
  const AwsMakeOrder order_;
  const GroupCalls::Done<Refused> done_;
  const TimePoint until_;
  AwsMakePlan plan_;
  std::int64_t max_ = 0;
  bool raised_ = false;
  std::string failure_;     // why the group does not make what is missing
  std::int64_t there_ = 0;  // when it was given up
};

void Making::OnView(const Result<AwsView>& view) {
  if (!view) return done_(tl::unexpected<Error>(view.error()));
  if (!view->exists) {
    return done_(Refused{order_.names, "there is no Auto Scaling group " + order_.group.name, {}});
  }
  plan_ = PlanMake(*view, order_.names, order_.ended);
  max_ = view->max;
  calls_.Name(order_.group, plan_.name,
              [self = shared_from_this(), view = *view](const Result<void>& named) {
                if (!self->Failed(named)) self->OnNamed(view);
              });
}

void Making::OnNamed(const AwsView& view) {
  if (plan_.missing.empty()) return Finish();
  if (!failure_.empty()) return GiveUp(view);
  const bool must_raise = view.target != plan_.target;
  // What failed before the order does not count; what failed since the last Make of it does.
  const bool is_new = (must_raise && !raised_) || !order_.before->activities;
  if (!is_new) return must_raise ? Raise() : Ask();
  ReadActivitiesThen([self = shared_from_this(), must_raise](const auto& activities) {
    auto& before = self->order_.before->activities.emplace();
    for (const AwsActivity& each : activities) before.insert(each.id);
    must_raise ? self->Raise() : self->Wait(self->order_.times.look_every);
  });
}

void Making::Raise() {
  raised_ = true;
  calls_.Do(SetTarget(order_.group, plan_.target),
            [self = shared_from_this()](const Result<void>& set) {
              self->calls_.Changed(self->order_.group);
              // Nothing was ordered; who may not order need not try each second.
              if (!set && !MayPass(set.error())) {
                self->failure_ = set.error().reason;
                return self->Finish();
              }
              if (!self->Failed(set)) self->Wait(self->order_.times.first_look);
            });
}

void Making::ReadActivitiesThen(std::function<void(std::vector<AwsActivity>)> then) {
  calls_.Call(DescribeActivities(order_.group),
              [self = shared_from_this(), then = std::move(then)](const auto& answer) {
                if (!answer) return self->done_(tl::unexpected<Error>(answer.error()));
                then(ReadActivities(*answer));
              });
}

void Making::Ask() {
  ReadActivitiesThen(
      [self = shared_from_this()](const auto& activities) { self->OnActivities(activities); });
}

void Making::OnActivities(const std::vector<AwsActivity>& activities) {
  const bool is_last = calls_.loop().Now() + order_.times.look_every >= until_;
  failure_ = FailureOf(activities, *order_.before->activities, is_last);
  if (failure_.empty()) return Wait(order_.times.look_every);
  // Some may have come in the meantime.
  Look();
}

void Making::GiveUp(const AwsView& view) {
  there_ = MembersOf(view);
  calls_.Do(SetTarget(order_.group, there_), [self = shared_from_this()](const Result<void>& set) {
    self->calls_.Changed(self->order_.group);
    self->order_.before->activities.reset();
    if (!self->Failed(set)) self->Finish();
  });
}

void Making::Wait(Duration wait) {
  if (calls_.loop().Now() + wait >= until_) return Finish();
  calls_.After(wait, [self = shared_from_this()] { self->Look(); });
}

void Making::Finish() {
  Refused refused;
  if (!failure_.empty() && !plan_.missing.empty()) {
    refused.names = plan_.missing;
    refused.words = failure_;
    if (IsAboutQuota(failure_)) refused.quota = there_;
  }
  if (!plan_.refused.empty()) {
    refused.names.insert(refused.names.end(), plan_.refused.begin(), plan_.refused.end());
    if (refused.words.empty()) {
      refused.words =
          "the group " + order_.group.name + " may have " + std::to_string(max_) + " machines";
      refused.quota = max_;
    }
  }
  done_(std::move(refused));
}

}  // namespace

void MakeInGroup(GroupCalls& calls, AwsMakeOrder order, GroupCalls::Done<Refused> done) {
  std::make_shared<Making>(calls, std::move(order), std::move(done))->Look();
}

}  // namespace tidemill
