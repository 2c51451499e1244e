// SPDX-License-Identifier: Apache-2.0
#include "rehearse/played_pool.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

#include "model/job.h"
#include "wire/duration.h"
#include "wire/size.h"

namespace tidemill {
namespace {

constexpr std::int64_t kMemoryACpu = std::int64_t{4} << 30;
// More than that is a slip.
constexpr double kMostCpus = 10'000;
constexpr double kMostMachines = 1'000'000;
constexpr double kMostDollars = 1e6;

std::optional<double> NumberOf(std::string_view text, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!(value >= 0 && value <= most)) return std::nullopt;
  return value;
}

std::optional<Money> DollarsOf(std::string_view text) {
  const auto dollars = NumberOf(text, kMostDollars);
  if (!dollars) return std::nullopt;
  return Money{std::llround(*dollars * 1e6)};
}

// False: the value is not as it should be.
template <typename T, typename Value>
bool Set(T& to, const std::optional<Value>& value) {
  if (value) to = T(*value);
  return value.has_value();
}

bool SetCount(std::int64_t& to, std::string_view value, double most, double scale = 1) {
  const auto number = NumberOf(value, most);
  if (number) to = std::llround(*number * scale);
  return number.has_value();
}

enum class Taken { kYes, kWrongValue, kUnknown };

Taken Take(PlayedPool& pool, std::string_view name, std::string_view value) {
  const auto taken = [](bool good) { return good ? Taken::kYes : Taken::kWrongValue; };
  PoolMachines& machines = pool.machines;
  if (name == "name") {
    pool.name = value;
    return taken(IsName(value));
  }
  if (name == "cpus") return taken(SetCount(machines.shape.millicpus, value, kMostCpus, 1000));
  if (name == "memory") return taken(Set(machines.shape.memory_bytes, ParseSize(value)));
  if (name == "max") return taken(SetCount(machines.max, value, kMostMachines));
  if (name == "min") return taken(SetCount(machines.min, value, kMostMachines));
  if (name == "price") return taken(Set(machines.price, DollarsOf(value)));
  if (name == "boot") return taken(Set(pool.boot, ParseDuration(value)));
  if (name == "idle") return taken(Set(machines.idle, ParseDuration(value)));
  if (name == "billed_at_least") {
    return taken(Set(machines.billed_at_least, ParseDuration(value)));
  }
  if (name == "spot") {
    machines.spot = true;
    return taken(value.empty());
  }
  return Taken::kUnknown;
}

}  // namespace

Result<PlayedPool> ParsePlayedPool(std::string_view text, Duration boot) {
  const auto wrong = [&](const std::string& why) {
    return Fail(Code::kInvalid,
                "--pool '" + std::string(text) + "': " + why +
                    "; write it as name=spot,cpus=4,memory=16GiB,max=100,price=0.05,boot=60s,spot");
  };
  PlayedPool pool;
  pool.boot = boot;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    const std::string_view value = equals == part.npos ? "" : part.substr(equals + 1);
    const Taken taken = Take(pool, name, value);
    if (taken == Taken::kUnknown) return wrong("there is no '" + std::string(name) + "'");
    if (taken == Taken::kWrongValue) return wrong("'" + std::string(part) + "' has no good value");
  }
  PoolMachines& machines = pool.machines;
  if (pool.name.empty()) return wrong("it has no name");
  if (machines.shape.millicpus < 1) return wrong("it does not say how many cpus a machine has");
  if (machines.max < 1) return wrong("it does not say how many machines there may be, as max=100");
  if (machines.min > machines.max) return wrong("min is more than max");
  if (machines.shape.memory_bytes == 0) {
    machines.shape.memory_bytes = machines.shape.millicpus * (kMemoryACpu / 1000);
  }
  machines.on_demand = machines.price;
  return pool;
}

}  // namespace tidemill
