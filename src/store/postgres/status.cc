// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/status.h"

#include <algorithm>
#include <limits>

#include "base/bytes.h"
#include "base/limits.h"

namespace tidemill {
namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kTroubleBytes = 400;

void PutNumber(std::string& out, std::int64_t number) {
  PutVarint(out, static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0)));
}

std::int64_t TakeNumber(ByteReader& reader) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(reader.Varint(), kMost));
}

}  // namespace

std::string PackStatus(const MachineStatus& status) {
  std::string out;
  PutVarint(out, kVersion);
  PutVarint(out, status.enforces ? 1 : 0);
  const std::string_view engine =
      std::string_view(status.engine).substr(0, limits::kMachineNameBytes);
  PutVarint(out, engine.size());
  out += engine;
  const std::size_t jobs = std::min(status.jobs.size(), limits::kJobsPerStatus);
  PutVarint(out, jobs);
  std::size_t room = kTroubleBytes;
  for (std::size_t i = 0; i < jobs; ++i) {
    const JobUse& use = status.jobs[i];
    PutNumber(out, use.job.number);
    PutNumber(out, use.running);
    PutNumber(out, use.millicpus);
    PutNumber(out, use.memory_bytes);
    const std::string_view trouble = std::string_view(use.trouble).substr(0, room);
    PutVarint(out, trouble.size());
    out += trouble;
    room -= trouble.size();
  }
  return out;
}

std::optional<MachineStatus> UnpackStatus(std::string_view bytes) {
  ByteReader reader(bytes);
  if (reader.Varint() != kVersion) return std::nullopt;
  MachineStatus status;
  status.enforces = reader.Varint() != 0;
  const std::uint64_t engine = reader.Varint();
  if (engine > limits::kMachineNameBytes) return std::nullopt;
  status.engine = reader.Take(engine);
  const std::uint64_t jobs = reader.Varint();
  if (jobs > limits::kJobsPerStatus) return std::nullopt;
  for (std::uint64_t i = 0; i < jobs && reader.ok(); ++i) {
    JobUse& use = status.jobs.emplace_back();
    use.job.number = TakeNumber(reader);
    use.running = static_cast<int>(
        std::min<std::int64_t>(TakeNumber(reader), std::numeric_limits<int>::max()));
    use.millicpus = TakeNumber(reader);
    use.memory_bytes = TakeNumber(reader);
    const std::uint64_t trouble = reader.Varint();
    if (trouble > kTroubleBytes) return std::nullopt;
    use.trouble = reader.Take(trouble);
  }
  if (!reader.ok() || !reader.done()) return std::nullopt;
  return status;
}

}  // namespace tidemill
