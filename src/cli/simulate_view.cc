// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate_view.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <utility>

#include "cli/format.h"
#include "cli/plot.h"
#include "cli/table.h"

namespace tidemill::cli {
namespace {

constexpr std::size_t kPlotWidth = 72;

double Ms(Duration time) { return static_cast<double>(time.count()) / 1000; }

std::string TimeText(double ms) { return DurationText(std::llround(ms)); }
std::string DollarText(double micros) { return MoneyText(std::llround(micros)); }
std::string CountText(double count) { return Thousands(std::llround(count)); }
// "137.4 h": what machines are paid by.
std::string MachineHoursText(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f h", ms / 3'600'000);
  return text;
}
std::string PartText(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", part * 100);
  return text;
}
std::string TimesText(double times) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", times);
  return text;
}

struct Row {
  const char* title;
  std::function<double(const Rehearsed&)> value;
  std::string (*text)(double);
};

std::vector<Row> RowsOf(bool has_price, bool has_failed) {
  std::vector<Row> rows = {
      {"time", [](const Rehearsed& run) { return Ms(run.time); }, TimeText},
      {"  ideal packing", [](const Rehearsed& run) { return Ms(run.ideal); }, TimeText},
      {"  times the ideal", [](const Rehearsed& run) { return run.times_ideal(); }, TimesText},
  };
  if (has_price) {
    const std::pair<const char*, MachineBill Rehearsed::*> bills[] = {
        {"  for work", &Rehearsed::work},
        {"  for lost work", &Rehearsed::lost},
        {"  idle", &Rehearsed::idle},
        {"  before joining", &Rehearsed::boot}};
    rows.push_back(
        {"cost", [](const Rehearsed& run) { return double(run.cost().micros); }, DollarText});
    for (const auto& [title, bill] : bills) {
      rows.push_back({title,
                      [bill = bill](const Rehearsed& run) {
                        return static_cast<double>((run.*bill).cost.micros);
                      },
                      DollarText});
    }
  }
  rows.push_back({"machine time after joining",
                  [](const Rehearsed& run) { return Ms(run.joined_time()); }, MachineHoursText});
  rows.push_back({"  useful", [](const Rehearsed& run) { return run.useful_part(); }, PartText});
  rows.push_back(
      {"  lost", [](const Rehearsed& run) { return Ms(run.lost.time); }, MachineHoursText});
  rows.push_back({"machines at once",
                  [](const Rehearsed& run) { return double(run.most_machines); }, CountText});
  rows.push_back(
      {"  taken away", [](const Rehearsed& run) { return double(run.interruptions); }, CountText});
  if (has_failed) {
    rows.push_back(
        {"failed items", [](const Rehearsed& run) { return double(run.failed); }, CountText});
  }
  return rows;
}

}  // namespace

const Rehearsed& MiddleOf(const std::vector<Rehearsed>& runs) {
  std::vector<const Rehearsed*> order;
  for (const Rehearsed& run : runs) order.push_back(&run);
  std::sort(order.begin(), order.end(),
            [](const Rehearsed* a, const Rehearsed* b) { return a->time < b->time; });
  return *order[order.size() / 2];
}

std::string RehearsalText(const std::vector<Rehearsed>& runs, std::size_t width, bool colours) {
  const auto any = [&](const std::function<bool(const Rehearsed&)>& is) {
    return std::any_of(runs.begin(), runs.end(), is);
  };
  const bool has_price = any([](const Rehearsed& run) { return run.cost().micros > 0; });
  const bool has_failed = any([](const Rehearsed& run) { return run.failed > 0; });
  std::vector<Column> columns = {{""}, {runs.size() == 1 ? "" : "MEDIAN", true}};
  if (runs.size() > 1) {
    columns.push_back({"LEAST", true});
    columns.push_back({"MOST", true});
  }
  std::vector<std::vector<Cell>> cells;
  for (const Row& row : RowsOf(has_price, has_failed)) {
    const Range range = RangeOf(runs, row.value);
    std::vector<Cell> line = {row.title, row.text(range.median)};
    if (runs.size() > 1) {
      line.emplace_back(row.text(range.least));
      line.emplace_back(row.text(range.most));
    }
    cells.push_back(std::move(line));
  }
  std::string text = FormatTable(columns, cells, width, colours);
  std::vector<std::pair<std::int64_t, std::int64_t>> points;
  for (const Rehearsed::Moment& moment : MiddleOf(runs).moments) {
    points.emplace_back(moment.at / std::chrono::milliseconds(1), moment.machines);
  }
  const std::string plot = PlotText(points, {.width = std::min(width, kPlotWidth), .rows = 8});
  if (!plot.empty()) text += "\nmachines over time\n" + plot;
  return text;
}

}  // namespace tidemill::cli
