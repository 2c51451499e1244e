// SPDX-License-Identifier: Apache-2.0
#include "cli/queues.h"

#include <utility>

#include "cli/format.h"
#include "cli/pages.h"
#include "cli/projects.h"
#include "cli/settings_diff.h"
#include "cli/table.h"
#include "wire/settings_json.h"

namespace tidemill::cli {
namespace {

Cell StateOf(bool disabled) { return disabled ? Cell("disabled", Colour::kYellow) : Cell("on"); }

// "0 to 64 vcpus"; "-" for machines that come by themselves.
std::string SizeText(const PoolMachines& machines) {
  if (machines.provider.empty() && machines.max == 0) return "-";
  return Thousands(machines.min) + " to " + Thousands(machines.max) + " " +
         std::string(SizeUnitName(machines.unit));
}

std::string PriceOf(const PoolMachines& machines) {
  if (machines.price == Money{}) return "-";
  return "$" + DollarsText(machines.price) + "/h" + (machines.spot ? " spot" : "");
}

}  // namespace

std::string QueuesText(const std::vector<Queue>& queues, std::size_t width, bool colours) {
  if (queues.empty()) return "no queues.  Make some:  tidemill apply -f tidemill.yaml\n";
  std::vector<std::vector<Cell>> rows;
  for (const Queue& queue : queues) {
    rows.push_back({Printable(queue.name), Thousands(queue.priority), Thousands(queue.share),
                    StateOf(queue.disabled), NamesText(queue.pools), LimitsText(queue.limits)});
  }
  return FormatTable(
      {{"QUEUE"}, {"PRIORITY", true}, {"SHARE", true}, {"STATE"}, {"POOLS"}, {"LIMITS"}}, rows,
      width, colours);
}

std::string MachinesText(const std::vector<PoolSettings>& pools, std::size_t width, bool colours) {
  std::vector<std::vector<Cell>> rows;
  for (const PoolSettings& pool : pools) {
    const PoolMachines& machines = pool.machines;
    rows.push_back({Printable(pool.pool.name),
                    machines.provider.empty() ? "-" : Printable(machines.provider),
                    StateOf(machines.disabled), SizeText(machines), PriceOf(machines),
                    ShapeText(machines.shape)});
  }
  return FormatTable({{"POOL"}, {"PROVIDER"}, {"STATE"}, {"SIZE"}, {"PRICE"}, {"MACHINE"}}, rows,
                     width, colours);
}

int ListQueues(const Context& context) {
  return PrintAll<Queue>(
      context, "/v1/queues", ParseQueues, [](const Queue& queue) { return Printable(queue.name); },
      [&](const std::vector<Queue>& queues) {
        return QueuesText(queues, context.console.columns, context.console.colours);
      });
}

int ListMachinesOfPools(const Context& context) {
  return PrintAll<PoolSettings>(
      context, "/v1/pools", ParsePools,
      [](const PoolSettings& pool) { return Printable(pool.pool.name); },
      [&](const std::vector<PoolSettings>& pools) {
        return MachinesText(pools, context.console.columns, context.console.colours);
      });
}

}  // namespace tidemill::cli
