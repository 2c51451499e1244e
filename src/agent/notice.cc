// SPDX-License-Identifier: Apache-2.0
#include "agent/notice.h"

#include <algorithm>

namespace tidemill {
namespace {

// The last sync is sent in time, however little there is; its answer is worth a moment more.
constexpr Duration kSayLeast = std::chrono::seconds(1);

}  // namespace

LeaveTimes TimesToLeave(const AgentLimits& limits) {
  return {limits.leave_grace, limits.leave_save, limits.leave_time};
}

LeavePlan PlanLeave(const Notice& notice, TimePoint now, const AgentLimits& limits) {
  // It may go on for hours, so what runs is worth its end.
  if (notice.kind == Notice::Kind::kRebalance) return {};
  if (notice.kind == Notice::Kind::kEnding) return {now, TimesToLeave(limits)};
  const LeaveTimes full{limits.notice_grace, limits.notice_save, limits.notice_time};
  const Duration whole = full.grace + full.save + full.say + limits.notice_logs;
  const Duration left = std::max(notice.until - now, Duration::zero());
  if (left >= whole) return {now + (left - whole), full};
  const auto share = [&](Duration part) { return Duration(part.count() * left / whole); };
  return {now, {share(full.grace), share(full.save), std::max(share(full.say), kSayLeast)}};
}

std::string_view NameOf(Notice::Kind kind) {
  switch (kind) {
    case Notice::Kind::kRebalance:
      return "rebalance";
    case Notice::Kind::kInterruption:
      return "interruption";
    case Notice::Kind::kEnding:
      return "ending";
  }
  return "";
}

}  // namespace tidemill
