// SPDX-License-Identifier: Apache-2.0
#include "rehearse/spot_trace.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "base/cut.h"

namespace tidemill {
namespace {

constexpr double kMostSeconds = 366 * 86'400;
constexpr std::string_view kHeader = "seconds,machines";
constexpr std::string_view kPoolHeader = "seconds,machines,pool";

template <typename T>
std::optional<T> ParseWhole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<SpotLoss> ParseLoss(std::string_view line, bool has_pool) {
  const auto at_s = ParseWhole<double>(CutAt(line, ','));
  const auto machines = ParseWhole<std::int64_t>(CutAt(line, ','));
  if (!at_s || !(*at_s >= 0 && *at_s <= kMostSeconds) || !machines || *machines < 1) {
    return std::nullopt;
  }
  if (!has_pool && !line.empty()) return std::nullopt;
  return SpotLoss{Duration(std::llround(*at_s * 1e6)), *machines, std::string(line)};
}

}  // namespace

Result<std::vector<SpotLoss>> ParseSpotTrace(std::string_view text) {
  std::vector<SpotLoss> losses;
  bool has_pool = false;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = CutAt(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (number == 1) {
      has_pool = line == kPoolHeader;
      if (has_pool || line == kHeader) continue;
      return Fail(Code::kInvalid,
                  "line 1: a trace begins with the line 'seconds,machines' or "
                  "'seconds,machines,pool'");
    }
    if (line.empty()) continue;
    const auto loss = ParseLoss(line, has_pool);
    if (!loss) {
      return Fail(Code::kInvalid, "line " + std::to_string(number) + ": '" + std::string(line) +
                                      "' is not as '3600,25': when, and how many machines");
    }
    if (!losses.empty() && loss->at < losses.back().at) {
      return Fail(Code::kInvalid, "line " + std::to_string(number) +
                                      ": it is earlier than the line before; sort the trace");
    }
    losses.push_back(*loss);
  }
  if (losses.empty()) return Fail(Code::kInvalid, "the trace takes no machine away");
  return losses;
}

Result<double> ParseInterruptions(std::string_view text) {
  constexpr std::string_view kEnd = "%/h";
  if (text.ends_with(kEnd)) {
    const auto percent = ParseWhole<double>(text.substr(0, text.size() - kEnd.size()));
    if (percent && *percent >= 0 && *percent <= 100) return *percent / 100;
  }
  return Fail(Code::kInvalid,
              "'" + std::string(text) + "' is not how many machines are taken away; write 5%/h");
}

}  // namespace tidemill
