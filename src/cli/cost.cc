// SPDX-License-Identifier: Apache-2.0
#include "cli/cost.h"

#include "cli/format.h"

namespace tidemill::cli {
namespace {

std::string TimeText(Duration time) {
  return DurationText(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

bool HasPrice(const JobCost& cost) {
  return cost.spent.micros > 0 || (cost.forecast && cost.forecast->cost_most.micros > 0);
}

void Add(std::string& text, std::int64_t count, const char* word) {
  if (count == 0) return;
  text += (text.empty() ? "" : ", ") + Thousands(count) + " " + word;
}

}  // namespace

std::optional<JobCost> FetchCost(Client& client, const std::string& job) {
  const auto body = client.Get(JobTarget(job, "/cost"), {.busy = {}, .away = {}});
  if (!body) return std::nullopt;
  auto cost = ParseJobCost(*body);
  if (!cost) return std::nullopt;
  return *std::move(cost);
}

std::string SpentText(const JobCost& cost) {
  if (!HasPrice(cost)) return "";
  std::string text = MoneyText(cost.spent.micros) + " so far";
  if (cost.cost_an_item) text += ", " + MoneyText(cost.cost_an_item->micros) + " an item";
  if (cost.lost.micros > 0) text += ", " + MoneyText(cost.lost.micros) + " lost to interruptions";
  return text;
}

std::string TimeLeftText(const JobCost& cost) {
  if (!cost.forecast) return "";
  const JobForecast& forecast = *cost.forecast;
  return TimeText(forecast.time) + " left (" + TimeText(forecast.least) + " to " +
         TimeText(forecast.most) + ")";
}

std::string EndCostText(const JobCost& cost) {
  if (!cost.forecast || !HasPrice(cost)) return "";
  const JobForecast& forecast = *cost.forecast;
  return MoneyText(forecast.cost.micros) + " by the end (" + MoneyText(forecast.cost_least.micros) +
         " to " + MoneyText(forecast.cost_most.micros) + ")";
}

std::string CountsText(const MachineCounts& machines) {
  std::string text;
  Add(text, machines.ordered, "ordered");
  Add(text, machines.booting, "booting");
  Add(text, machines.joined, "joined");
  Add(text, machines.draining, "draining");
  return text;
}

std::string MachinesText(const JobCost& cost) {
  const std::string counts = CountsText(cost.machines);
  if (counts.empty() && cost.working == 0) return "";
  std::string text = Thousands(cost.working) + (cost.working == 1 ? " works" : " work") + " for it";
  if (!counts.empty()) text += "; its pools have " + counts;
  return text;
}

std::vector<std::pair<std::string, std::string>> CostLines(const JobCost& cost) {
  std::vector<std::pair<std::string, std::string>> lines;
  if (const std::string spent = SpentText(cost); !spent.empty()) lines.emplace_back("cost", spent);
  if (const std::string left = TimeLeftText(cost); !left.empty()) {
    const std::string end = EndCostText(cost);
    lines.emplace_back("forecast", left + (end.empty() ? "" : ", " + end));
  }
  if (const std::string machines = MachinesText(cost); !machines.empty()) {
    lines.emplace_back("machines", machines);
  }
  return lines;
}

}  // namespace tidemill::cli
