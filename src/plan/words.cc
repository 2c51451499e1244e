// SPDX-License-Identifier: Apache-2.0
#include "plan/words.h"

#include <array>
#include <cstdio>

namespace tidemill {
namespace {

std::string Decimal(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

// With one digit after the point, if it is not 0; rounded down, so that nobody is promised more
// than there is.
std::string Tenths(std::int64_t value, std::int64_t unit) {
  const std::int64_t tenths = MulDiv(value, 10, unit);
  std::string text = InWords(tenths / 10);
  if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text;
}

}  // namespace

std::string InWords(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string CountOf(std::int64_t count, const std::string& noun) {
  return InWords(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string InWords(Money money) {
  const double dollars = static_cast<double>(money.micros) / 1e6;
  if (money.micros == 0 || money.micros >= 10'000) return "$" + Decimal("%.2f", dollars);
  return "$" + Decimal("%.2g", dollars);
}

std::string InWords(Duration time) {
  const std::int64_t seconds = (time.count() + 999'999) / 1'000'000;
  if (seconds <= 120) return InWords(seconds) + " s";
  if (seconds <= 120 * 60) return InWords((seconds + 59) / 60) + " min";
  return InWords((seconds + 3599) / 3600) + " h";
}

std::string BytesInWords(std::int64_t bytes) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  return bytes < 1024 * kMiB ? Tenths(bytes, kMiB) + " MiB" : Tenths(bytes, 1024 * kMiB) + " GiB";
}

std::string CpusInWords(std::int64_t millicpus) {
  return Tenths(millicpus, 1000) + (millicpus == 1000 ? " cpu" : " cpus");
}

std::string InWords(const Resources& need) {
  if (WantsWholeMachine(need)) return "a whole machine";
  std::string text = CpusInWords(need.millicpus);
  if (need.memory_bytes > 0) text += ", " + BytesInWords(need.memory_bytes);
  if (!need.devices.empty()) text += ", " + InWords(need.devices);
  return text;
}

std::string InWords(const Devices& devices) {
  std::string text;
  for (const auto& [kind, device] : devices) {
    if (kind == kWholeMachine) continue;
    text += (text.empty() ? "" : ", ") + DeviceInWords(kind, device);
  }
  return text;
}

}  // namespace tidemill
