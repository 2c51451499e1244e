// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/status.h"

#include <algorithm>
#include <limits>

#include "base/bytes.h"
#include "base/limits.h"

namespace tidemill {
namespace {

constexpr std::uint64_t kVersion = 3;
// What servers of before have written.
constexpr std::uint64_t kWithoutPlace = 2;
constexpr std::uint64_t kWithoutProgress = 1;
constexpr std::size_t kTextBytes = 600;
constexpr std::size_t kProgressItems = 32;
constexpr std::size_t kPlaceBytes = 2 * limits::kNameBytes;

void PutNumber(std::string& out, std::int64_t number) {
  PutVarint(out, static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0)));
}

std::int64_t TakeNumber(ByteReader& reader) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(reader.Varint(), kMost));
}

int TakeInt(ByteReader& reader) {
  return static_cast<int>(
      std::min<std::int64_t>(TakeNumber(reader), std::numeric_limits<int>::max()));
}

// As much of it as there is room for.
void PutText(std::string& out, std::string_view text, std::size_t& room) {
  text = text.substr(0, room);
  PutVarint(out, text.size());
  out += text;
  room -= text.size();
}

bool TakeText(ByteReader& reader, std::string& text) {
  const std::uint64_t size = reader.Varint();
  if (size > kTextBytes) return false;
  text = reader.Take(size);
  return true;
}

bool TakeProgress(ByteReader& reader, JobUse& use) {
  if (!TakeText(reader, use.waits_for)) return false;
  const std::uint64_t items = reader.Varint();
  if (items > kProgressItems) return false;
  for (std::uint64_t i = 0; i < items && reader.ok(); ++i) {
    ItemProgress& progress = use.progress.emplace_back();
    progress.item = TakeNumber(reader);
    progress.permille = TakeInt(reader);
    if (!TakeText(reader, progress.note)) return false;
  }
  return true;
}

}  // namespace

std::string PackStatus(const MachineStatus& status) {
  std::string out;
  PutVarint(out, kVersion);
  PutVarint(out, status.enforces ? 1 : 0);
  const std::string_view engine = std::string_view(status.engine).substr(0, limits::kReasonBytes);
  PutVarint(out, engine.size());
  out += engine;
  const std::size_t jobs = std::min(status.jobs.size(), limits::kJobsPerStatus);
  PutVarint(out, jobs);
  std::size_t room = kTextBytes;
  std::size_t items_left = kProgressItems;
  for (std::size_t i = 0; i < jobs; ++i) {
    const JobUse& use = status.jobs[i];
    PutNumber(out, use.job.number);
    PutNumber(out, use.running);
    PutNumber(out, use.millicpus);
    PutNumber(out, use.memory_bytes);
    PutText(out, use.trouble, room);
    PutText(out, use.waits_for, room);
    const std::size_t items = std::min(use.progress.size(), items_left);
    PutVarint(out, items);
    for (std::size_t n = 0; n < items; ++n) {
      PutNumber(out, use.progress[n].item);
      PutNumber(out, use.progress[n].permille);
      PutText(out, use.progress[n].note, room);
    }
    items_left -= items;
  }
  std::size_t place_room = kPlaceBytes;
  PutText(out, status.type, place_room);
  PutText(out, status.zone, place_room);
  PutVarint(out, status.spot ? 1 : 0);
  return out;
}

std::optional<MachineStatus> UnpackStatus(std::string_view bytes) {
  ByteReader reader(bytes);
  const std::uint64_t version = reader.Varint();
  if (version < kWithoutProgress || version > kVersion) return std::nullopt;
  MachineStatus status;
  status.enforces = reader.Varint() != 0;
  const std::uint64_t engine = reader.Varint();
  if (engine > limits::kReasonBytes) return std::nullopt;
  status.engine = reader.Take(engine);
  const std::uint64_t jobs = reader.Varint();
  if (jobs > limits::kJobsPerStatus) return std::nullopt;
  for (std::uint64_t i = 0; i < jobs && reader.ok(); ++i) {
    JobUse& use = status.jobs.emplace_back();
    use.job.number = TakeNumber(reader);
    use.running = TakeInt(reader);
    use.millicpus = TakeNumber(reader);
    use.memory_bytes = TakeNumber(reader);
    if (!TakeText(reader, use.trouble)) return std::nullopt;
    if (version > kWithoutProgress && !TakeProgress(reader, use)) return std::nullopt;
  }
  if (version > kWithoutPlace) {
    if (!TakeText(reader, status.type) || !TakeText(reader, status.zone)) return std::nullopt;
    status.spot = reader.Varint() != 0;
  }
  if (!reader.ok() || !reader.done()) return std::nullopt;
  return status;
}

}  // namespace tidemill
