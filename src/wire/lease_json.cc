// SPDX-License-Identifier: Apache-2.0
#include "wire/lease_json.h"

#include <cstdint>
#include <limits>

#include "base/bytes.h"
#include "base/limits.h"
#include "wire/runs.h"
#include "wire/status_json.h"

namespace tidemill::json {
namespace {

void AppendRuns(std::string& out, std::string_view field, const Bits& bits) {
  if (bits.Any()) AppendText(out, field, FormatRuns(bits));
}

std::string TryText(const ItemTry& item) {
  std::string out = "{";
  AppendNumber(out, "item", item.item);
  AppendNumber(out, "attempts", item.attempts);
  AppendNumber(out, "lost", item.lost);
  if (item.memory_bytes > 0) AppendNumber(out, "memory_bytes", item.memory_bytes);
  if (item.steps > 0) AppendNumber(out, "steps", item.steps);
  return out.append("}");
}

Result<ItemTry> ReadTry(const Fields& fields, JobId job) {
  ItemTry item;
  item.job = job;
  TIDEMILL_TRY(item.item, fields.Int("item", {.least = 0}));
  TIDEMILL_TRY(const std::int64_t attempts, fields.Int("attempts", {.most = json::kMaxInt32}));
  TIDEMILL_TRY(const std::int64_t lost, fields.Int("lost", {.most = json::kMaxInt32}));
  TIDEMILL_TRY(const std::int64_t steps,
               fields.Int("steps", {.most = json::kMaxInt32, .absent = 0}));
  TIDEMILL_TRY(item.memory_bytes, fields.Int("memory_bytes", {.most = kMostMemory, .absent = 0}));
  item.attempts = static_cast<std::int32_t>(attempts);
  item.lost = static_cast<std::int32_t>(lost);
  item.steps = static_cast<std::int32_t>(steps);
  return item;
}

}  // namespace

std::string SettlementText(const Settlement& settlement) {
  std::string out = "{";
  AppendText(out, "lease", ToString(settlement.lease));
  AppendNumber(out, "seq", settlement.seq);
  AppendText(out, "ok", FormatRuns(settlement.ok));
  AppendText(out, "failed", FormatRuns(settlement.failed));
  AppendText(out, "back", FormatRuns(settlement.back));
  AppendRuns(out, "final", settlement.final);
  AppendRuns(out, "memory", settlement.memory);
  AppendRuns(out, "begun", settlement.begun);
  return out.append(",\"report\":\"").append(EncodeBase64(settlement.body)).append("\"}");
}

Result<Settlement> ReadSettlement(const Fields& fields) {
  Settlement read;
  TIDEMILL_TRY(read.lease, fields.Id<LeaseId>("lease"));
  TIDEMILL_TRY(const std::int64_t seq, fields.Int("seq", {.least = 0, .most = json::kMaxInt32}));
  read.seq = static_cast<std::int32_t>(seq);
  TIDEMILL_TRY(read.ok, fields.Runs("ok", limits::kItemsPerChunk));
  TIDEMILL_TRY(read.failed, fields.Runs("failed", limits::kItemsPerChunk));
  TIDEMILL_TRY(read.back, fields.Runs("back", limits::kItemsPerChunk));
  TIDEMILL_TRY(read.final, fields.Runs("final", limits::kItemsPerChunk));
  TIDEMILL_TRY(read.memory, fields.Runs("memory", limits::kItemsPerChunk));
  TIDEMILL_TRY(read.begun, fields.Runs("begun", limits::kItemsPerChunk));
  TIDEMILL_TRY(read.body, fields.Bytes("report", limits::kReportBytes));
  return read;
}

std::string GrantText(const Grant& grant) {
  const Lease& lease = grant.lease;
  std::string out = "{";
  AppendText(out, "lease", ToString(lease.id));
  AppendNumber(out, "job", lease.chunk.job.number);
  AppendNumber(out, "chunk", lease.chunk.chunk);
  AppendNumber(out, "first_item", grant.first_item);
  AppendNumber(out, "length", lease.mine.length());
  AppendText(out, "items", FormatRuns(lease.mine));
  AppendNumber(out, "round", lease.round);
  if (lease.memory_bytes > 0) AppendNumber(out, "memory_bytes", lease.memory_bytes);
  if (lease.tried) AppendFlag(out, "tried", true);
  out.append(",\"tries\":[");
  for (const ItemTry& item : grant.tries) {
    if (&item != &grant.tries.front()) out.push_back(',');
    out.append(TryText(item));
  }
  return out.append("]}");
}

Result<Grant> ReadGrant(const Fields& fields, SessionId session) {
  Grant read;
  Lease& lease = read.lease;
  lease.session = session;
  TIDEMILL_TRY(lease.id, fields.Id<LeaseId>("lease"));
  TIDEMILL_TRY(lease.chunk.job.number, fields.Int("job", {.least = 1}));
  TIDEMILL_TRY(const std::int64_t chunk,
               fields.Int("chunk", {.least = 0, .most = json::kMaxInt32}));
  TIDEMILL_TRY(const std::int64_t length,
               fields.Int("length", {.least = 1, .most = limits::kItemsPerChunk}));
  TIDEMILL_TRY(const std::int64_t round,
               fields.Int("round", {.least = 0, .most = json::kMaxInt32}));
  TIDEMILL_TRY(read.first_item, fields.Int("first_item", {.least = 0}));
  TIDEMILL_TRY(lease.mine, fields.Runs("items", static_cast<int>(length)));
  TIDEMILL_TRY(lease.memory_bytes, fields.Int("memory_bytes", {.most = kMostMemory, .absent = 0}));
  TIDEMILL_TRY(lease.tried, fields.Flag("tried", false));
  lease.chunk.chunk = static_cast<std::int32_t>(chunk);
  lease.round = static_cast<std::int32_t>(round);
  TIDEMILL_TRY_VOID(
      ReadEach(fields, "tries", limits::kItemsPerChunk, [&](const Fields& element) -> Result<void> {
        TIDEMILL_TRY(const ItemTry item, ReadTry(element, lease.chunk.job));
        read.tries.push_back(item);
        return {};
      }));
  return read;
}

}  // namespace tidemill::json
