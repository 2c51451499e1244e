// SPDX-License-Identifier: Apache-2.0
#include "agent/shell/cloud_machine.h"

#include <utility>

namespace tidemill {
namespace {

class OneAfterTheOther : public MachineEnd {
 public:
  OneAfterTheOther(Loop& loop, Log& log, std::unique_ptr<MachineEnd> first,
                   std::unique_ptr<MachineEnd> second, Duration wait)
      : loop_(loop), log_(log), wait_(wait), first_(std::move(first)), second_(std::move(second)) {}
  ~OneAfterTheOther() override { loop_.Cancel(timer_); }
  OneAfterTheOther(const OneAfterTheOther&) = delete;
  OneAfterTheOther& operator=(const OneAfterTheOther&) = delete;

  void End(std::function<void(Result<void>)> done) override {
    if (first_ == nullptr) return second_->End(std::move(done));
    first_->End([this, done = std::move(done)](const Result<void>& ended) mutable {
      if (!ended) {
        log_.Warn("machine.not_ended_by_group", {{"reason", ended.error().reason}});
        return second_->End(std::move(done));
      }
      log_.Info("machine.ended_by_group");
      timer_ = loop_.After(
          wait_, [this, done = std::move(done)]() mutable { second_->End(std::move(done)); });
    });
  }

 private:
  Loop& loop_;
  Log& log_;
  const Duration wait_;
  const std::unique_ptr<MachineEnd> first_;
  const std::unique_ptr<MachineEnd> second_;
  TimerId timer_ = TimerId::kNone;
};

}  // namespace

CloudMachine::CloudMachine(Deps deps, std::string cloud, std::unique_ptr<Metadata> metadata)
    : deps_(std::move(deps)),
      cloud_(std::move(cloud)),
      metadata_(std::move(metadata)),
      self_(MachineSelf{}) {}

Result<std::unique_ptr<CloudMachine>> CloudMachine::Open(Deps deps, const std::string& cloud) {
  TIDEMILL_TRY(auto metadata, OpenMetadata(cloud, deps.loop, deps.world));
  return std::unique_ptr<CloudMachine>(
      new CloudMachine(std::move(deps), cloud, std::move(metadata)));
}

Result<MachineSelf> CloudMachine::Find(Duration patience) {
  const bool ends = patience > Duration::zero();
  TryToFind(ends ? deps_.loop.Now() + patience : TimePoint::max());
  deps_.loop.Run();
  return self_;
}

void CloudMachine::TryToFind(TimePoint until) {
  FindSelf(cloud_, *metadata_, [this, until](Result<MachineSelf> self) {
    self_ = std::move(self);
    if (self_ || deps_.loop.Now() >= until) return deps_.loop.Stop();
    deps_.log.Warn("machine.not_found", {{"reason", self_.error().reason}});
    deps_.loop.After(kFindAgain, [this, until] { TryToFind(until); });
  });
}

std::function<void(std::function<void(Result<MachineProof>)>)> CloudMachine::ProofFor(
    std::string server) {
  return [this, server = std::move(server)](std::function<void(Result<MachineProof>)> done) {
    FetchProof(cloud_, *metadata_, server, std::move(done));
  };
}

void CloudMachine::Watch(NoticeWatch::OnNotice told, std::function<void()> looked) {
  watch_ = std::make_unique<NoticeWatch>(
      deps_.loop, *metadata_, deps_.log,
      NoticeWatchOptions{.cloud = cloud_, .now_ms = deps_.world.now_ms}, std::move(told));
  watch_->Start(std::move(looked));
}

std::unique_ptr<MachineEnd> CloudMachine::GroupEnd() const {
  return EndByGroup(deps_.loop, deps_.random, deps_.world, self_.value());
}

std::unique_ptr<MachineEnd> EndInTurn(Loop& loop, Log& log, std::unique_ptr<MachineEnd> first,
                                      std::unique_ptr<MachineEnd> second, Duration wait) {
  return std::make_unique<OneAfterTheOther>(loop, log, std::move(first), std::move(second), wait);
}

}  // namespace tidemill
