// SPDX-License-Identifier: Apache-2.0
// /healthz and /metrics: for whatever watches the server.
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "server/http/answer.h"
#include "server/http/api.h"

namespace tidemill {
namespace {

void Health(const ApiState& state, const Call& call) {
  if (state.stopping) {
    call.respond(ProblemAnswer(503, "this server is stopping; try another one"));
    return;
  }
  call.respond(JsonAnswer(R"({"status":"ok","version":")" TIDEMILL_VERSION R"("})"));
}

std::int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return statm ? resident * sysconf(_SC_PAGESIZE) : 0;
}

struct Metric {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  std::int64_t value;
};

void Metrics(const ApiState& state, const Call& call) {
  const Exchanger::Totals& totals = state.server.totals();
  const Metric metrics[] = {
      {"tidemill_syncs_total", "counter", "Syncs of agents carried out.", totals.syncs},
      {"tidemill_batches_total", "counter", "Transactions of the exchange.", totals.batches},
      {"tidemill_leases_total", "counter", "Leases handed to agents.", totals.leases},
      {"tidemill_outcomes_total", "counter", "Outcomes of items recorded.", totals.outcomes},
      {"tidemill_agents", "gauge", "Agents heard of within a session's life.",
       state.server.agents()},
      {"tidemill_waiting_agents", "gauge", "Agents that wait to be told to sync.",
       static_cast<std::int64_t>(state.server.waiting())},
      {"tidemill_http_connections", "gauge", "Open connections.",
       static_cast<std::int64_t>(state.options.connections())},
      {"process_resident_memory_bytes", "gauge", "Resident memory.", ResidentBytes()},
  };
  std::string text;
  for (const Metric& metric : metrics) {
    text.append("# HELP ").append(metric.name).append(" ").append(metric.help);
    text.append("\n# TYPE ").append(metric.name).append(" ").append(metric.type);
    text.append("\n").append(metric.name).append(" ").append(std::to_string(metric.value));
    text.append("\n");
  }
  call.respond({.content_type = "text/plain; version=0.0.4", .body = std::move(text)});
}

}  // namespace

void AddHealthRoutes(Router& router, ApiState& state) {
  router.Get("/healthz", Needs::kNothing, [&state](const Call& call) { Health(state, call); });
  router.Get("/metrics", Needs::kServer, [&state](const Call& call) { Metrics(state, call); });
}

}  // namespace tidemill
