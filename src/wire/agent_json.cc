// SPDX-License-Identifier: Apache-2.0
#include "wire/agent_json.h"

#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "base/limits.h"
#include "model/job.h"
#include "wire/json.h"
#include "wire/lease_json.h"
#include "wire/policy_json.h"
#include "wire/status_json.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Path;
using json::Value;

// Jobs that one agent has run items of since its last sync.
constexpr std::size_t kMostMeasured = 256;
constexpr std::size_t kJoinTokenBytes = 100;
constexpr std::int64_t kMostRunMs = std::int64_t{1} << 50;
// One item of kMostRunMs.
constexpr double kMostSquares = 1e-6 * static_cast<double>(kMostRunMs) * kMostRunMs;
// Of one agent. It holds no more leases than kLeasesPerSession, but may be told of other jobs.
constexpr std::size_t kMaxAgentJobs = 1000;
// No server knows of more.
constexpr std::size_t kMostStreams = 256;

std::int64_t MillisecondsOf(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

void Append(std::string& out, std::string_view field, std::string_view quoted) {
  out.append("\"").append(field).append("\":\"").append(quoted).append("\"");
}

void Append(std::string& out, std::string_view field, std::int64_t number) {
  out.append("\"").append(field).append("\":").append(std::to_string(number));
}

// "name":[a,b] of whatever `one` writes.
template <typename Many, typename One>
void AppendEach(std::string& out, std::string_view field, const Many& many, One one) {
  out.append("\"").append(field).append("\":[");
  bool first = true;
  for (const auto& each : many) {
    if (!first) out.push_back(',');
    first = false;
    one(each);
  }
  out.push_back(']');
}

void AppendIds(std::string& out, std::string_view field, const std::vector<LeaseId>& ids) {
  AppendEach(out, field, ids,
             [&](const LeaseId& id) { out.append("\"").append(ToString(id)).append("\""); });
}

Result<std::vector<LeaseId>> ReadLeaseIds(const Fields& fields, std::string_view name,
                                          std::size_t most) {
  std::vector<LeaseId> ids;
  TIDEMILL_TRY(const Value* array, fields.Array(name, most));
  if (array == nullptr) return ids;
  ids.reserve(array->size());
  const Path in_array = fields.In(name);
  for (const Value& value : *array) {
    const Path path{&in_array, {}, ids.size()};
    if (!value.is_string()) return json::Wrong(path, "must be a UUID in a string");
    const auto id = ParseId<LeaseId>(value.get_ref<const std::string&>());
    if (!id) return json::Wrong(path, "not a UUID");
    ids.push_back(*id);
  }
  return ids;
}

// Nothing if there are none.
void AppendJobs(std::string& out, std::string_view field, const std::vector<JobId>& jobs) {
  if (jobs.empty()) return;
  out.push_back(',');
  AppendEach(out, field, jobs, [&](JobId job) { out.append(std::to_string(job.number)); });
}

Result<std::vector<JobId>> ReadJobs(const Fields& fields, std::string_view name) {
  std::vector<JobId> jobs;
  TIDEMILL_TRY(const Value* array, fields.Array(name, kMaxAgentJobs));
  if (array == nullptr) return jobs;
  for (const Value& job : *array) {
    TIDEMILL_TRY(const std::int64_t number, json::IntOf(job, fields.In(name), {.least = 1}));
    jobs.push_back({number});
  }
  return jobs;
}

// A number for each job, as `name` in each element.
void AppendCounts(std::string& out, std::string_view field, std::string_view name,
                  const std::map<JobId, std::int64_t>& counts) {
  out.push_back(',');
  AppendEach(out, field, counts, [&](const auto& count) {
    out.push_back('{');
    Append(out, "job", count.first.number);
    json::AppendNumber(out, name, count.second);
    out.push_back('}');
  });
}

Result<std::map<JobId, std::int64_t>> ReadCounts(const Fields& fields, std::string_view field,
                                                 std::string_view name) {
  std::map<JobId, std::int64_t> counts;
  TIDEMILL_TRY_VOID(
      json::ReadEach(fields, field, kMaxAgentJobs, [&](const Fields& element) -> Result<void> {
        TIDEMILL_TRY(const std::int64_t job, element.Int("job", {.least = 1}));
        TIDEMILL_TRY(counts[JobId{job}], element.Int(name, {.most = limits::kItemsPerJob}));
        return {};
      }));
  return counts;
}

// Nothing if there are none.
void AppendStreams(std::string& out, const std::vector<AskedStream>& streams) {
  if (streams.empty()) return;
  out.push_back(',');
  AppendEach(out, "streams", streams, [&](const AskedStream& stream) {
    out.push_back('{');
    Append(out, "id", ToString(stream.id));
    json::AppendNumber(out, "job", stream.job.number);
    json::AppendNumber(out, "item", stream.item);
    json::AppendValue(out, "ask", stream.ask);
    out.push_back('}');
  });
}

Result<AskedStream> ReadStream(const Fields& fields, SessionId session) {
  AskedStream read;
  read.session = session;
  TIDEMILL_TRY(read.id, fields.Id<StreamId>("id"));
  TIDEMILL_TRY(read.job.number, fields.Int("job", {.least = 1}));
  TIDEMILL_TRY(read.item, fields.Int("item", {.most = limits::kItemsPerJob - 1}));
  // Kept as it is: one that only newer agents understand does not spoil the whole sync.
  const Value* ask = fields.Find("ask");
  if (ask == nullptr || !ask->is_object()) {
    return json::Wrong(fields.In("ask"), "must be an object");
  }
  read.ask = ask->dump();
  return read;
}

// A number that is not below 0; absent means 0.
Result<double> ReadSum(const Fields& fields, std::string_view name, double most) {
  const Value* value = fields.Find(name);
  if (value == nullptr) return 0;
  if (!value->is_number()) return json::Wrong(fields.In(name), "must be a number");
  const auto number = value->get<double>();
  if (!(number >= 0 && number <= most)) return json::Wrong(fields.In(name), "is out of bounds");
  return number;
}

// The shortest text that is read as the same number.
std::string NumberText(double number) {
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), number).ptr;
  return {text, end};
}

Result<Measured> ReadMeasured(const Fields& fields) {
  Measured read;
  TIDEMILL_TRY(read.job.number, fields.Int("job", {.least = 1}));
  TIDEMILL_TRY(read.items, fields.Int("items", {.least = 0, .most = limits::kItemsPerJob}));
  TIDEMILL_TRY(read.run_ms, fields.Int("run_ms", {.least = 0, .most = kMostRunMs}));
  TIDEMILL_TRY(read.squares, ReadSum(fields, "squares", kMostSquares));
  TIDEMILL_TRY(read.lost_ms, fields.Int("lost_ms", {.least = 0, .most = kMostRunMs, .absent = 0}));
  return read;
}

Result<Trouble> ReadTrouble(const Fields& fields) {
  Trouble read;
  TIDEMILL_TRY(read.job.number, fields.Int("job", {.least = 1}));
  TIDEMILL_TRY(read.reason, fields.Text("reason", {.most_bytes = limits::kReasonBytes}));
  return read;
}

// All that clouds sign of a machine is shorter.
constexpr std::size_t kMostProof = 16 << 10;

// As it is: the document of AWS has several lines, and is signed to the byte.
Result<std::string> ReadSigned(const Fields& fields, std::string_view name) {
  const Value* value = fields.Find(name);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return json::Wrong(fields.In(name), "must be a string");
  const auto& text = value->get_ref<const std::string&>();
  if (text.size() > kMostProof) return json::Wrong(fields.In(name), "is too long");
  return text;
}

Result<std::optional<MachineProof>> ReadProof(const Fields& fields) {
  const Value* value = fields.Find("proof");
  if (value == nullptr) return std::nullopt;
  const Path path = fields.In("proof");
  TIDEMILL_TRY(const Fields inner, Fields::Of(*value, path));
  MachineProof proof;
  TIDEMILL_TRY(proof.provider, inner.Text("provider", {.most_bytes = 16}));
  TIDEMILL_TRY(proof.document, ReadSigned(inner, "document"));
  TIDEMILL_TRY(proof.signature, ReadSigned(inner, "signature"));
  return std::optional(std::move(proof));
}

std::string ProofText(const MachineProof& proof) {
  std::string out = "{";
  json::AppendText(out, "provider", proof.provider);
  json::AppendText(out, "document", proof.document);
  json::AppendText(out, "signature", proof.signature);
  return out.append("}");
}

}  // namespace

std::string FormatJoinRequest(const JoinRequest& request) {
  std::string out = "{";
  Append(out, "version", kAgentVersion);
  out.push_back(',');
  Append(out, "session", ToString(request.session));
  out.append(",\"machine\":").append(json::Quoted(request.machine));
  json::AppendText(out, "machine_key", request.machine_key);
  if (request.proof) json::AppendValue(out, "proof", ProofText(*request.proof));
  if (!request.pool.empty()) json::AppendText(out, "pool", request.pool);
  if (!request.project.empty()) json::AppendText(out, "project", request.project);
  return out.append(",\"resources\":").append(json::ResourcesText(request.shape)).append("}");
}

Result<JoinRequest> ParseJoinRequest(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  // First of all: the fields of another version may mean something else.
  TIDEMILL_TRY(const std::int64_t version,
               fields.Int("version", {.least = 0, .most = json::kMaxInt32}));
  if (version != kAgentVersion) {
    return json::Wrong(fields.In("version"), std::to_string(version) +
                                                 " is not served here; this server serves " +
                                                 std::to_string(kAgentVersion));
  }
  JoinRequest request;
  TIDEMILL_TRY(request.session, fields.Id<SessionId>("session"));
  TIDEMILL_TRY(request.machine, fields.Text("machine", {.most_bytes = limits::kMachineNameBytes}));
  TIDEMILL_TRY(request.machine_key,
               fields.Text("machine_key", {.most_bytes = limits::kMachineNameBytes}));
  TIDEMILL_TRY(request.shape, json::ReadResources(fields, "resources"));
  TIDEMILL_TRY(request.proof, ReadProof(fields));
  TIDEMILL_TRY(request.pool, fields.Text("pool", {.most_bytes = limits::kNameBytes, .absent = ""}));
  TIDEMILL_TRY(request.project,
               fields.Text("project", {.most_bytes = limits::kNameBytes, .absent = ""}));
  return request;
}

std::string FormatJoinAnswer(const Joined& answer) {
  std::string out = "{";
  Append(out, "session", ToString(answer.session));
  out.push_back(',');
  Append(out, "state", answer.state == SessionState::kAlive ? "alive" : "draining");
  out.push_back(',');
  Append(out, "heartbeat_ms", MillisecondsOf(answer.heartbeat));
  out.push_back(',');
  Append(out, "session_ms", MillisecondsOf(answer.life));
  out.push_back(',');
  Append(out, "version", kAgentVersion);
  json::AppendText(out, "token", answer.token);
  json::AppendValue(out, "policy", json::PolicyText(answer.policy));
  json::AppendNumber(out, "log_bytes", answer.log_bytes);
  if (!answer.machine.empty()) json::AppendText(out, "machine", answer.machine);
  return out.append("}");
}

Result<Joined> ParseJoinAnswer(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  Joined answer;
  TIDEMILL_TRY(answer.session, fields.Id<SessionId>("session"));
  TIDEMILL_TRY(const std::string_view state, fields.Text("state", {.most_bytes = 16}));
  answer.state = state == "alive" ? SessionState::kAlive : SessionState::kDraining;
  TIDEMILL_TRY(const std::int64_t heartbeat, fields.Int("heartbeat_ms", {.least = 1}));
  TIDEMILL_TRY(const std::int64_t life, fields.Int("session_ms", {.least = 1}));
  answer.heartbeat = std::chrono::milliseconds(heartbeat);
  answer.life = std::chrono::milliseconds(life);
  TIDEMILL_TRY(answer.token, fields.Text("token", {.most_bytes = kJoinTokenBytes}));
  TIDEMILL_TRY(answer.policy, json::ReadPolicy(fields, "policy"));
  TIDEMILL_TRY(answer.log_bytes, fields.Int("log_bytes", {.absent = 0}));
  TIDEMILL_TRY(answer.machine,
               fields.Text("machine", {.most_bytes = limits::kMachineNameBytes, .absent = ""}));
  return answer;
}

std::string FormatSyncRequest(const SyncRequest& request) {
  std::string out = "{";
  Append(out, "session", ToString(request.session));
  out.append(",\"free\":").append(json::ResourcesText(request.free)).append(",");
  AppendIds(out, "leases", request.known);
  out.push_back(',');
  AppendEach(out, "settlements", request.settlements,
             [&](const Settlement& settlement) { out.append(json::SettlementText(settlement)); });
  out.push_back(',');
  AppendEach(out, "measured", request.measured, [&](const Measured& measured) {
    out.push_back('{');
    Append(out, "job", measured.job.number);
    out.push_back(',');
    Append(out, "items", measured.items);
    out.push_back(',');
    Append(out, "run_ms", measured.run_ms);
    if (measured.squares > 0) json::AppendValue(out, "squares", NumberText(measured.squares));
    if (measured.lost_ms > 0) json::AppendNumber(out, "lost_ms", measured.lost_ms);
    out.push_back('}');
  });
  if (request.holds) AppendCounts(out, "holds", "items", *request.holds);
  AppendJobs(out, "resting", request.resting);
  if (request.status) out.append(",\"status\":").append(json::StatusText(*request.status));
  if (!request.troubles.empty()) {
    out.push_back(',');
    AppendEach(out, "troubles", request.troubles, [&](const Trouble& trouble) {
      out.push_back('{');
      Append(out, "job", trouble.job.number);
      out.append(",\"reason\":").append(json::Quoted(json::ReasonText(trouble.reason))).append("}");
    });
  }
  return out.append(request.leaving ? ",\"leaving\":true}" : ",\"leaving\":false}");
}

Result<SyncRequest> ParseSyncRequest(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  SyncRequest request;
  TIDEMILL_TRY(request.session, fields.Id<SessionId>("session"));
  TIDEMILL_TRY(request.free, json::ReadResources(fields, "free"));
  TIDEMILL_TRY(request.known, ReadLeaseIds(fields, "leases", limits::kLeasesPerSession));
  TIDEMILL_TRY_VOID(json::ReadEach(fields, "settlements", limits::kSettlementsPerSync,
                                   [&](const Fields& element) -> Result<void> {
                                     TIDEMILL_TRY(Settlement read, json::ReadSettlement(element));
                                     request.settlements.push_back(std::move(read));
                                     return {};
                                   }));
  TIDEMILL_TRY_VOID(
      json::ReadEach(fields, "measured", kMostMeasured, [&](const Fields& element) -> Result<void> {
        TIDEMILL_TRY(const Measured read, ReadMeasured(element));
        request.measured.push_back(read);
        return {};
      }));
  if (fields.Find("holds") != nullptr) {
    TIDEMILL_TRY(request.holds, ReadCounts(fields, "holds", "items"));
  }
  TIDEMILL_TRY(request.resting, ReadJobs(fields, "resting"));
  TIDEMILL_TRY(request.status, json::ReadStatus(fields));
  TIDEMILL_TRY_VOID(json::ReadEach(fields, "troubles", limits::kTroublesPerSync,
                                   [&](const Fields& element) -> Result<void> {
                                     TIDEMILL_TRY(Trouble read, ReadTrouble(element));
                                     request.troubles.push_back(std::move(read));
                                     return {};
                                   }));
  TIDEMILL_TRY(request.leaving, fields.Flag("leaving", false));
  return request;
}

std::string FormatSyncResult(const SyncResult& result) {
  std::string out = "{";
  AppendEach(out, "leases", result.grants,
             [&](const Grant& grant) { out.append(json::GrantText(grant)); });
  out.push_back(',');
  AppendIds(out, "gone", result.gone);
  out.push_back(',');
  AppendEach(out, "refused", result.refused, [&](const Refusal& refusal) {
    out.push_back('{');
    Append(out, "lease", ToString(refusal.lease));
    out.push_back(',');
    Append(out, "seq", refusal.seq);
    out.append(",\"reason\":").append(json::Quoted(refusal.reason)).append("}");
  });
  json::AppendFlag(out, "draining", result.draining);
  AppendJobs(out, "followed", result.followed);
  AppendJobs(out, "back", result.back);
  if (!result.limits.empty()) AppendCounts(out, "limits", "slots", result.limits);
  AppendStreams(out, result.streams);
  if (!result.token.empty()) json::AppendText(out, "token", result.token);
  return out.append("}");
}

Result<SyncResult> ParseSyncResult(std::string_view body, SessionId session) {
  constexpr std::size_t kMostReason = 1000;
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  SyncResult result;
  TIDEMILL_TRY_VOID(json::ReadEach(fields, "leases", limits::kLeasesPerSession,
                                   [&](const Fields& element) -> Result<void> {
                                     TIDEMILL_TRY(Grant read, json::ReadGrant(element, session));
                                     result.grants.push_back(std::move(read));
                                     return {};
                                   }));
  TIDEMILL_TRY(result.gone, ReadLeaseIds(fields, "gone", limits::kLeasesPerSession));
  TIDEMILL_TRY_VOID(json::ReadEach(
      fields, "refused", limits::kSettlementsPerSync, [&](const Fields& element) -> Result<void> {
        Refusal& read = result.refused.emplace_back();
        TIDEMILL_TRY(read.lease, element.Id<LeaseId>("lease"));
        TIDEMILL_TRY(const std::int64_t seq, element.Int("seq", {.most = json::kMaxInt32}));
        read.seq = static_cast<std::int32_t>(seq);
        TIDEMILL_TRY(read.reason, element.Text("reason", {.most_bytes = kMostReason}));
        return {};
      }));
  TIDEMILL_TRY(result.draining, fields.Flag("draining", false));
  TIDEMILL_TRY(result.followed, ReadJobs(fields, "followed"));
  TIDEMILL_TRY(result.back, ReadJobs(fields, "back"));
  TIDEMILL_TRY(result.limits, ReadCounts(fields, "limits", "slots"));
  TIDEMILL_TRY_VOID(
      json::ReadEach(fields, "streams", kMostStreams, [&](const Fields& element) -> Result<void> {
        TIDEMILL_TRY(AskedStream read, ReadStream(element, session));
        result.streams.push_back(std::move(read));
        return {};
      }));
  TIDEMILL_TRY(result.token, fields.Text("token", {.most_bytes = kJoinTokenBytes, .absent = ""}));
  return result;
}

std::string FormatWaitAnswer(bool sync_now) {
  return sync_now ? "{\"sync\":true}" : "{\"sync\":false}";
}

Result<bool> ParseWaitAnswer(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  return fields.Flag("sync", {});
}

}  // namespace tidemill
