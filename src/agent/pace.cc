// SPDX-License-Identifier: Apache-2.0
#include "agent/pace.h"

#include <algorithm>

namespace tidemill {
namespace {

// The newer an item, the more it counts; a single slow one changes little.
constexpr double kWeight = 1.0 / 16;
// Long enough for what items of a batch have in common to be seen.
constexpr Duration kWindow = std::chrono::milliseconds(100);
// Ends that are no further apart may be of one batch; ends that never are further apart are not
// waited for longer than this.
constexpr Duration kGap = std::chrono::milliseconds(5);
constexpr Duration kLongestWindow = 10 * kWindow;
// Of a loop of which nothing is known yet. A batch that takes all of it doubles it.
constexpr int kFirstInLoop = 16;

double Us(Duration time) { return static_cast<double>(time.count()); }

}  // namespace

// The items of a batch end together: a window ends with the last of them, never between two.
void Pace::Add(TimePoint now, Duration took) {
  mean_us_ = mean_us_ == 0 ? Us(took) : mean_us_ + (Us(took) - mean_us_) * kWeight;
  const bool is_apart = now - last_ > kGap || now - burst_ >= kLongestWindow;
  if (run_us_ > 0 && is_apart && last_ - begin_ >= kWindow) {
    // Slowly down: a small batch between large ones must not make the next ones small.
    together_ = std::max(run_us_ / Us(last_ - begin_), together_ * 15 / 16);
    begin_ = last_;
    run_us_ = 0;
  }
  if (is_apart) burst_ = now;
  // Time in which nothing ran is not counted.
  const Duration idle = std::max(now - took - last_, Duration::zero());
  begin_ = (run_us_ == 0 ? last_ : begin_) + idle;
  last_ = now;
  run_us_ += Us(std::min(took, now - begin_));
}

double Pace::together() const {
  const double since = Us(last_ - begin_) > 0 ? run_us_ / Us(last_ - begin_) : 0;
  return std::max({1.0, together_, since});
}

double Pace::LastsUs(int count, int slots) const {
  return count * mean_us_ / std::max(together(), static_cast<double>(slots));
}

int DepthOf(const Pace& pace, const DepthQuery& query, const AgentLimits& limits) {
  if (query.mode == Mode::kContainer) return 1;
  const bool is_loop = query.mode == Mode::kLoop;
  const int slots = std::max(1, query.slots);
  // Toward the end all containers get their share.
  const int share = std::max(1, (query.unfinished + slots - 1) / slots);
  if (pace.mean_us() <= 0) return is_loop ? std::min(kFirstInLoop, share) : 1;
  const double held = is_loop ? std::max(1.0, pace.together() / slots) : 1;
  const double ahead = Us(limits.run_ahead) / pace.mean_us() * held;
  // In a loop, three times what its program holds. It hands over results and asks for more in one
  // request, so it gets what waits already: while this batch runs there must be one for it that is
  // larger than this, or a program that would take more could never show it.
  const double depth = is_loop ? 3 * held + ahead : 1 + std::min<double>(ahead, limits.most_ahead);
  const int most = is_loop ? limits.most_in_loop : 1 + limits.most_ahead;
  return std::min(share, static_cast<int>(std::clamp<double>(depth, 1, most)));
}

}  // namespace tidemill
