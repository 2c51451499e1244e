// SPDX-License-Identifier: Apache-2.0
#include "wire/machine_json.h"

#include <utility>

#include "base/limits.h"
#include "wire/json.h"
#include "wire/status_json.h"
#include "wire/time.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Value;

Result<std::int64_t> ReadTimestamp(const Fields& fields, std::string_view name) {
  TIDEMILL_TRY(const std::string_view text, fields.Text(name, {.most_bytes = 64}));
  const auto ms = ParseTime(text);
  if (!ms) return json::Wrong(fields.In(name), "is not a time");
  return *ms;
}

Result<ListedMachine> ReadMachine(const Fields& fields) {
  ListedMachine read;
  Session& session = read.session;
  TIDEMILL_TRY(session.id, fields.Id<SessionId>("session"));
  TIDEMILL_TRY(session.machine, fields.Text("machine", {.most_bytes = limits::kMachineNameBytes}));
  TIDEMILL_TRY(session.pool, fields.Text("pool", {.most_bytes = limits::kNameBytes}));
  TIDEMILL_TRY(const std::string_view state, fields.Text("state", {.most_bytes = 16}));
  session.state = state == "alive" ? SessionState::kAlive : SessionState::kDraining;
  TIDEMILL_TRY(session.aside,
               fields.Text("aside", {.most_bytes = limits::kReasonBytes, .absent = ""}));
  TIDEMILL_TRY(session.shape, json::ReadResources(fields, "resources"));
  TIDEMILL_TRY(read.joined_ms, ReadTimestamp(fields, "joined_at"));
  TIDEMILL_TRY(read.seen_ms, ReadTimestamp(fields, "seen_at"));
  TIDEMILL_TRY(read.items, fields.Int("items", {.absent = 0}));
  TIDEMILL_TRY(read.status, json::ReadStatus(fields));
  return read;
}

}  // namespace

std::string FormatMachines(const std::vector<ListedMachine>& machines, bool more) {
  std::string out = "{\"machines\":[";
  for (const ListedMachine& machine : machines) {
    const Session& session = machine.session;
    out.append(&machine == &machines.front() ? "{" : ",{");
    json::AppendText(out, "session", ToString(session.id));
    json::AppendText(out, "machine", session.machine);
    json::AppendText(out, "pool", session.pool);
    json::AppendText(out, "state", session.state == SessionState::kAlive ? "alive" : "draining");
    if (!session.aside.empty()) json::AppendText(out, "aside", session.aside);
    json::AppendValue(out, "resources", json::ResourcesText(session.shape));
    json::AppendText(out, "joined_at", FormatTime(machine.joined_ms));
    json::AppendText(out, "seen_at", FormatTime(machine.seen_ms));
    json::AppendNumber(out, "items", machine.items);
    if (machine.status) json::AppendValue(out, "status", json::StatusText(*machine.status));
    out.push_back('}');
  }
  out.push_back(']');
  if (more && !machines.empty()) {
    json::AppendText(out, "next", ToString(machines.back().session.id));
  }
  return out.append("}");
}

Result<MachinesAnswer> ParseMachines(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  MachinesAnswer answer;
  TIDEMILL_TRY_VOID(json::ReadEach(fields, "machines", limits::kPageRows,
                                   [&](const Fields& element) -> Result<void> {
                                     TIDEMILL_TRY(ListedMachine read, ReadMachine(element));
                                     answer.machines.push_back(std::move(read));
                                     return {};
                                   }));
  TIDEMILL_TRY(answer.next, fields.Text("next", {.most_bytes = json::kNextBytes, .absent = ""}));
  return answer;
}

}  // namespace tidemill
