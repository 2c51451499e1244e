// SPDX-License-Identifier: Apache-2.0
#include "cli/queues.h"

#include <utility>

#include "cli/cost.h"
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

// What holds a pool up, and what to do about it; empty: nothing that is not in the table already.
std::string HoldText(const PoolNow& now, std::int64_t now_ms) {
  const std::string words = now.words.empty() ? "" : ": '" + Printable(now.words) + "'";
  if (now.hold == "protected") {
    return "its last " + Thousands(now.never_joined) + " machines never joined" + words +
           ". Look at one's console, then:  tidemill pools forgive ";
  }
  if (now.hold == "no_capacity") {
    std::string text = "its provider has no capacity" + words;
    if (now.tried > 0) text += ", tried " + CountOf(now.tried, "time");
    if (now.again_ms) text += ", again " + WhenText(*now.again_ms, now_ms);
    return text;
  }
  if (now.hold == "price_cap") return "it costs more than its max_price allows";
  if (now.hold == "quota") {
    return "the provider's quota is " + CountOf(now.limit, "machine") + words;
  }
  if (now.hold == "pool_max")
    return "it has the most that it may, " + CountOf(now.limit, "machine");
  if (now.hold == "steps") return "its steps give no more for what waits now";
  return "";
}

std::string HoldLines(const std::vector<PoolSettings>& pools, const PoolsNow& now,
                      std::int64_t now_ms, std::size_t width) {
  std::string text;
  for (const PoolSettings& pool : pools) {
    const auto known = now.find(pool.pool.name);
    if (known == now.end()) continue;
    std::string why = HoldText(known->second, now_ms);
    if (why.empty()) continue;
    if (known->second.hold == "protected") why += Printable(pool.pool.name);
    text += Wrap(Printable(pool.pool.name) + ": " + why, width) + "\n";
  }
  return text;
}

std::string CountsOf(const PoolsNow& now, const std::string& pool) {
  const auto known = now.find(pool);
  const std::string text = known == now.end() ? "" : CountsText(known->second.machines);
  return text.empty() ? "-" : text;
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

std::string MachinesText(const std::vector<PoolSettings>& pools, const PoolsNow& now,
                         std::int64_t now_ms, std::size_t width, bool colours) {
  std::vector<std::vector<Cell>> rows;
  for (const PoolSettings& pool : pools) {
    const PoolMachines& machines = pool.machines;
    rows.push_back({Printable(pool.pool.name),
                    machines.provider.empty() ? "-" : Printable(machines.provider),
                    StateOf(machines.disabled), SizeText(machines), PriceOf(machines),
                    ShapeText(machines.shape), CountsOf(now, pool.pool.name)});
  }
  return FormatTable(
             {{"POOL"}, {"PROVIDER"}, {"STATE"}, {"SIZE"}, {"PRICE"}, {"MACHINE"}, {"MACHINES"}},
             rows, width, colours) +
         HoldLines(pools, now, now_ms, width);
}

int ListQueues(const Context& context) {
  return PrintAll<Queue>(
      context, "/v1/queues", ParseQueues, [](const Queue& queue) { return Printable(queue.name); },
      [&](const std::vector<Queue>& queues) {
        return QueuesText(queues, context.console.columns, context.console.colours);
      });
}

int ListMachinesOfPools(const Context& context) {
  const Console& console = context.console;
  PoolsNow now;
  const auto pools =
      FetchAll<PoolSettings>(context.client, "/v1/pools", ParsePools, [&](const std::string& body) {
        if (console.json) console.Line(body);
        // For the eye: what cannot be read is not shown.
        if (auto some = ParsePoolsNow(body)) now.merge(*some);
      });
  if (!pools) return Explain(console, context.client, pools.error());
  if (console.json) return kDone;
  if (console.quiet) {
    for (const PoolSettings& pool : *pools) console.Line(Printable(pool.pool.name));
    return kDone;
  }
  console.out(MachinesText(*pools, now, context.around.now_ms(), console.columns, console.colours));
  return kDone;
}

int ForgivePool(const Context& context, const std::string& pool) {
  const Console& console = context.console;
  const auto done = context.client.Post("/v1/pools/" + PercentEncode(pool) + "/forgive", "");
  if (!done) return Explain(console, context.client, done.error());
  if (console.quiet || console.json) return kDone;
  console.Line("pool " + Printable(pool) + " may order machines again.  See:  tidemill pools");
  return kDone;
}

}  // namespace tidemill::cli
