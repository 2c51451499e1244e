// SPDX-License-Identifier: Apache-2.0
#include "rehearse/duration_spread.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "wire/duration.h"

namespace tidemill {
namespace {

constexpr double kLeastUs = 1000;
constexpr double kMostUs = static_cast<double>(Duration(kMostDuration).count());
// Beyond it the mean is thousands of medians: a slip.
constexpr double kMostSigma = 4;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

tl::unexpected<Error> Wrong(std::string_view text) {
  return Fail(Code::kInvalid,
              "'" + std::string(text) +
                  "' does not say how long items take; write 60s, uniform(10s, 2m), "
                  "exponential(60s), normal(60s, 10s) or lognormal(60s, 1)");
}

// "name(a, b)"; one without brackets has no name.
struct Call {
  std::string_view name;
  std::vector<std::string_view> values;
};
std::optional<Call> ParseCall(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == text.npos) return Call{"", {text}};
  if (!text.ends_with(')')) return std::nullopt;
  Call call{Trim(text.substr(0, open)), {}};
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  for (std::size_t comma = rest.find(','); comma != rest.npos; comma = rest.find(',')) {
    call.values.push_back(Trim(rest.substr(0, comma)));
    rest.remove_prefix(comma + 1);
  }
  call.values.push_back(Trim(rest));
  return call;
}

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Of mean 0 and deviation 1.
double DrawNormal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.Unit()));
  return radius * std::cos(2 * std::numbers::pi * random.Unit());
}

double Us(Duration time) { return static_cast<double>(time.count()); }

}  // namespace

Result<DurationSpread> DurationSpread::Parse(std::string_view text) {
  const auto call = ParseCall(Trim(text));
  if (!call) return Wrong(text);
  constexpr std::pair<std::string_view, Kind> kNames[] = {
      {"", Kind::kFixed},          {"fixed", Kind::kFixed},
      {"uniform", Kind::kUniform}, {"exponential", Kind::kExponential},
      {"normal", Kind::kNormal},   {"lognormal", Kind::kLognormal},
  };
  const auto* const found = std::find_if(std::begin(kNames), std::end(kNames),
                                         [&](const auto& one) { return one.first == call->name; });
  if (found == std::end(kNames)) return Wrong(text);
  DurationSpread spread;
  spread.kind_ = found->second;
  const bool has_one = spread.kind_ == Kind::kFixed || spread.kind_ == Kind::kExponential;
  if (call->values.size() != (has_one ? 1 : 2)) return Wrong(text);
  const auto first = ParseDuration(call->values[0]);
  if (!first) return Wrong(text);
  spread.first_ = *first;
  if (spread.kind_ == Kind::kLognormal) {
    const auto sigma = ParseNumber(call->values[1]);
    if (!sigma || !(*sigma >= 0 && *sigma <= kMostSigma)) return Wrong(text);
    spread.sigma_ = *sigma;
  } else if (!has_one) {
    const auto second = ParseDuration(call->values[1]);
    if (!second) return Wrong(text);
    spread.second_ = *second;
    if (spread.kind_ == Kind::kUniform && spread.second_ < spread.first_) return Wrong(text);
  }
  return spread;
}

Result<DurationSpread> DurationSpread::Measured(std::vector<Bucket> buckets) {
  DurationSpread spread;
  spread.kind_ = Kind::kMeasured;
  spread.buckets_ = std::move(buckets);
  for (const Bucket& bucket : spread.buckets_) spread.count_ += bucket.count;
  if (spread.count_ <= 0) return Fail(Code::kInvalid, "nothing was measured");
  return spread;
}

Duration DurationSpread::Draw(std::uint64_t seed, std::int64_t item) const {
  SeededRandom random(seed ^ (static_cast<std::uint64_t>(item) * 0x9e3779b97f4a7c15), "length");
  return Duration(static_cast<std::int64_t>(std::clamp(DrawUs(random), kLeastUs, kMostUs)));
}

double DurationSpread::DrawUs(Random& random) const {
  switch (kind_) {
    case Kind::kFixed:
      return Us(first_);
    case Kind::kUniform:
      return Us(first_) + random.Unit() * Us(second_ - first_);
    case Kind::kExponential:
      return -Us(first_) * std::log(1 - random.Unit());
    case Kind::kNormal:
      return Us(first_) + Us(second_) * DrawNormal(random);
    case Kind::kLognormal:
      return Us(first_) * std::exp(sigma_ * DrawNormal(random));
    case Kind::kMeasured:
      return DrawBucket(random);
  }
  return Us(first_);
}

double DurationSpread::DrawBucket(Random& random) const {
  auto left = static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(count_)));
  for (const Bucket& bucket : buckets_) {
    left -= bucket.count;
    if (left < 0) return Us(bucket.least) + random.Unit() * Us(bucket.most - bucket.least);
  }
  return Us(buckets_.back().most);
}

}  // namespace tidemill
