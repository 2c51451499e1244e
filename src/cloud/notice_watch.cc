// SPDX-License-Identifier: Apache-2.0
#include "cloud/notice_watch.h"

#include <algorithm>
#include <utility>

#include "cloud/world.h"
#include "net/http.h"
#include "wire/cloud_json.h"

namespace tidemill {
namespace {

constexpr char kSpotAction[] = "meta-data/spot/instance-action";
constexpr char kRebalance[] = "meta-data/events/recommendations/rebalance";
constexpr char kGroupState[] = "meta-data/autoscaling/target-lifecycle-state";
constexpr char kPreempted[] = "instance/preempted";
// How long the server of Google waits for a change: less than a call may take.
constexpr char kWaitS[] = "60";

}  // namespace

std::vector<Notice> ReadEc2Notices(const MetadataValues& values, TimePoint now,
                                   std::int64_t now_ms) {
  std::vector<Notice> notices;
  if (const auto action = values.find(kSpotAction); action != values.end()) {
    // One that cannot be read is a notice all the same: the machine goes.
    const auto time_ms = ParseSpotAction(action->second);
    const Duration lead = std::chrono::milliseconds(
        std::clamp<std::int64_t>(time_ms.value_or(now_ms) - now_ms, 0, kEc2Lead.count() / 1000));
    notices.push_back({Notice::Kind::kInterruption, now + lead});
  }
  const auto state = values.find(kGroupState);
  if (state != values.end() && Trim(state->second) == "Terminated") {
    notices.push_back({Notice::Kind::kEnding, {}});
  }
  if (values.contains(kRebalance)) notices.push_back({Notice::Kind::kRebalance, {}});
  return notices;
}

NoticeWatch::NoticeWatch(Loop& loop, Metadata& metadata, Log& log, NoticeWatchOptions options,
                         OnNotice told)
    : loop_(loop),
      metadata_(metadata),
      log_(log),
      options_(std::move(options)),
      told_(std::move(told)) {}

template <typename Call>
auto NoticeWatch::WhileAlive(Call call) {
  return [call = std::move(call), alive = std::weak_ptr<char>(alive_)](auto&&... values) {
    if (!alive.expired()) call(std::forward<decltype(values)>(values)...);
  };
}

void NoticeWatch::Start(std::function<void()> looked) {
  looked_ = std::move(looked);
  Look();
}

void NoticeWatch::Look() { options_.cloud == "aws" ? LookAtEc2() : LookAtGce(); }

void NoticeWatch::LookAtEc2() {
  GetAll(metadata_, {kRebalance, kGroupState, kSpotAction},
         WhileAlive([this](const Result<MetadataValues>& values) { OnEc2(values); }));
}

void NoticeWatch::OnEc2(const Result<MetadataValues>& values) {
  if (!values) return Again(values.error().reason);
  for (const Notice& notice : ReadEc2Notices(*values, loop_.Now(), options_.now_ms())) Tell(notice);
  Again("");
}

// A change is told as soon as it comes; one since the last look, at once, because its tag is known.
void NoticeWatch::LookAtGce() {
  std::string path = kPreempted;
  if (!etag_.empty()) {
    path += std::string("?wait_for_change=true&timeout_sec=") + kWaitS +
            "&last_etag=" + PercentEncode(etag_);
  }
  metadata_.Get(path, WhileAlive([this](const Result<std::optional<MetadataValue>>& value) {
                  OnGce(value);
                }));
}

void NoticeWatch::OnGce(const Result<std::optional<MetadataValue>>& value) {
  if (!value) return Again(value.error().reason);
  if (*value) {
    etag_ = (*value)->etag;
    if (Trim((*value)->text) == "TRUE") {
      Tell({Notice::Kind::kInterruption, loop_.Now() + kGceLead});
    }
  }
  Again("");
}

void NoticeWatch::Tell(const Notice& notice) {
  if (std::find(kinds_.begin(), kinds_.end(), notice.kind) != kinds_.end()) return;
  kinds_.push_back(notice.kind);
  told_(notice);
}

void NoticeWatch::Again(const std::string& trouble) {
  const bool fails = !trouble.empty();
  if (fails && !fails_) log_.Warn("notices.not_read", {{"reason", trouble}});
  if (!fails && fails_) log_.Info("notices.read_again");
  fails_ = fails;
  loop_.After(options_.every, WhileAlive([this] { Look(); }));
  if (auto looked = std::exchange(looked_, {})) looked();
}

}  // namespace tidemill
