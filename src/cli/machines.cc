// SPDX-License-Identifier: Apache-2.0
#include "cli/machines.h"

#include <algorithm>
#include <utility>

#include "cli/format.h"
#include "cli/table.h"
#include "wire/machine_json.h"

namespace tidemill::cli {
namespace {

// A machine syncs every ten seconds; one that has not for so long is worth a look.
constexpr std::int64_t kLateMs = 25'000;
// More than any cell of servers has machines, in pages of a thousand.
constexpr int kMaxMachinePages = 1000;

std::string EngineText(const ListedMachine& machine) {
  if (!machine.status) return "-";
  return Printable(machine.status->engine) + (machine.status->enforces ? "" : " (not enforced)");
}

Cell StateOf(const Session& session) {
  if (!session.aside.empty()) return Cell("aside", Colour::kRed);
  if (session.state == SessionState::kDraining) return Cell("draining", Colour::kYellow);
  return Cell("ready");
}

// "2 nvidia.com/gpu (NVIDIA A10G, 22.4 GiB), 1 fpga"; what every machine has is not worth a word.
std::string DevicesText(const Devices& devices) {
  std::string text;
  for (const auto& [kind, has] : devices) {
    if (kind == kWholeMachine) continue;
    text += (text.empty() ? "" : ", ") + Printable(DeviceInWords(kind, has));
  }
  return text.empty() ? "-" : text;
}

// "c7i.4xlarge eu-west-1a spot"; "-" in no cloud.
std::string PlaceText(const ListedMachine& machine) {
  if (!machine.status || machine.status->type.empty()) return "-";
  const MachineStatus& status = *machine.status;
  return Printable(status.type) + " " + Printable(status.zone) + (status.spot ? " spot" : "");
}

// Why some of them get no items.
std::string AsideText(const std::vector<ListedMachine>& machines, std::size_t width) {
  std::string out;
  for (const ListedMachine& machine : machines) {
    const Session& session = machine.session;
    if (session.aside.empty()) continue;
    out += Clip(Printable(session.machine) + " was put aside: " + Printable(session.aside), width) +
           "\n";
  }
  return out;
}

// Why jobs do not run on some of them.
std::string TroublesText(const std::vector<ListedMachine>& machines, std::size_t width) {
  std::string out;
  for (const ListedMachine& machine : machines) {
    if (!machine.status) continue;
    for (const JobUse& use : machine.status->jobs) {
      if (use.trouble.empty()) continue;
      out += Clip(Printable(machine.session.machine) + " cannot run job " +
                      std::to_string(use.job.number) + " now: " + Printable(use.trouble),
                  width) +
             "\n";
    }
  }
  return out;
}

}  // namespace

std::string MachinesText(const std::vector<ListedMachine>& machines, std::int64_t now_ms,
                         std::size_t width, bool colours) {
  if (machines.empty()) {
    return "no machine has joined.  Make this one a machine:  tidemill up\n";
  }
  const bool in_cloud = std::any_of(machines.begin(), machines.end(),
                                    [](const auto& machine) { return PlaceText(machine) != "-"; });
  std::vector<std::vector<Cell>> rows;
  Resources all{0, 0};
  std::int64_t items = 0;
  for (const ListedMachine& machine : machines) {
    const Session& session = machine.session;
    all.millicpus += session.shape.millicpus;
    all.memory_bytes += session.shape.memory_bytes;
    items += machine.items;
    const bool late = now_ms - machine.seen_ms > kLateMs;
    rows.push_back({Printable(session.machine), session.pool, StateOf(session),
                    CpusText(session.shape.millicpus), BytesText(session.shape.memory_bytes),
                    DevicesText(session.shape.devices), EngineText(machine),
                    Thousands(machine.items),
                    Cell(AgoText(machine.seen_ms, now_ms), late ? Colour::kRed : Colour::kPlain)});
    if (in_cloud) rows.back().push_back(PlaceText(machine));
  }
  std::vector<Column> columns = {{"MACHINE"},    {"POOL"},         {"STATE"},
                                 {"CPUS", true}, {"MEMORY", true}, {"DEVICES"},
                                 {"ENGINE"},     {"ITEMS", true},  {"SEEN"}};
  if (in_cloud) columns.push_back({"PLACE"});
  std::string out = FormatTable(columns, rows, width, colours);
  const auto count = static_cast<std::int64_t>(machines.size());
  return out + CountOf(count, "machine") + ": " + CpusText(all.millicpus) + " cpus, " +
         BytesText(all.memory_bytes) + ", " + CountOf(items, "item") + " leased.\n" +
         AsideText(machines, width) + TroublesText(machines, width);
}

Result<std::vector<ListedMachine>> FetchMachines(Client& client) {
  std::vector<ListedMachine> all;
  std::string after;
  for (int page = 0; page < kMaxMachinePages; ++page) {
    TIDEMILL_TRY(
        const std::string body,
        client.Get("/v1/machines" + (after.empty() ? "" : "?after=" + PercentEncode(after))));
    TIDEMILL_TRY(MachinesAnswer answer, ParseMachines(body));
    for (ListedMachine& machine : answer.machines) all.push_back(std::move(machine));
    after = answer.next;
    if (after.empty()) break;
  }
  return all;
}

int ListMachines(const Context& context) {
  const Console& console = context.console;
  if (console.json) {
    const auto body = context.client.Get("/v1/machines");
    if (!body) return Explain(console, context.client, body.error());
    console.Line(*body);
    return kDone;
  }
  const auto machines = FetchMachines(context.client);
  if (!machines) return Explain(console, context.client, machines.error());
  if (console.quiet) {
    for (const ListedMachine& machine : *machines) console.Line(Printable(machine.session.machine));
    return kDone;
  }
  console.out(MachinesText(*machines, context.around.now_ms(), console.columns, console.colours));
  return kDone;
}

}  // namespace tidemill::cli
