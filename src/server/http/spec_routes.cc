// SPDX-License-Identifier: Apache-2.0
// /v1/specs
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/http/ask_access.h"
#include "server/http/page_asked.h"
#include "server/http/query.h"
#include "server/http/with_job.h"
#include "wire/kept_spec_json.h"

namespace tidemill {
namespace {

HttpResponse SpecAnswer(const KeptSpec& spec) { return JsonAnswer(FormatKeptSpec(spec)); }

void PutSpec(ApiState& state, Call call) {
  const auto name = ReadNameToMake(call);
  if (!name) return call.respond(ProblemAnswer(name.error()));
  auto document = ParseSpecToKeep(call.request.body);
  if (!document) return call.respond(ProblemAnswer(document.error()));
  KeptSpec spec;
  spec.name = *name;
  spec.document = *std::move(document);
  spec.made_by = call.caller.name;
  const std::string project = call.project;
  AskSettings<KeptSpec>(
      state, std::move(call),
      [project, spec](SettingsStore& store) { return store.PutSpec(project, spec); }, SpecAnswer);
}

// ?version=N; nothing: the newest.
Result<std::optional<std::int32_t>> ReadVersion(const HttpFields& fields) {
  TIDEMILL_TRY(const Query query, Query::Of(fields, {"version"}));
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  TIDEMILL_TRY(const std::int64_t version, query.Int("version", {.least = 1, .most = kMost}));
  if (version == 0) return std::nullopt;
  return static_cast<std::int32_t>(version);
}

void ShowSpec(ApiState& state, Call call) {
  const auto version = ReadVersion(call.request.query);
  if (!version) return call.respond(ProblemAnswer(version.error()));
  const std::string project = call.project;
  const std::string name = call.names[0];
  AskSettings<KeptSpec>(
      state, std::move(call),
      [project, name, version = *version](SettingsStore& store) {
        return store.FindSpec(project, name, version);
      },
      SpecAnswer);
}

void ListSpecs(ApiState& state, Call call) {
  const auto page = ReadPageAsked(call.request.query);
  if (!page) return call.respond(ProblemAnswer(page.error()));
  const std::string project = call.project;
  AskSettings<std::vector<KeptSpec>>(
      state, std::move(call),
      [project, page = *page](SettingsStore& store) {
        return store.ListSpecs(project, page.after, page.limit);
      },
      [limit = page->limit](const std::vector<KeptSpec>& specs) {
        return JsonAnswer(FormatKeptSpecs(specs, static_cast<int>(specs.size()) == limit));
      });
}

void DropSpec(ApiState& state, Call call) {
  const std::string project = call.project;
  const std::string name = call.names[0];
  AskSettings<void>(
      state, std::move(call),
      [project, name](SettingsStore& store) { return store.DropSpec(project, name); },
      [] { return HttpResponse{.status = 204}; });
}

}  // namespace

void AddSpecRoutes(Router& router, ApiState& state) {
  router.Put("/v1/specs/{spec}", Needs::kOperator, {.json_bytes = kJsonBytes},
             [&state](Call call) { PutSpec(state, std::move(call)); });
  router.Delete("/v1/specs/{spec}", Needs::kOperator,
                [&state](Call call) { DropSpec(state, std::move(call)); });
  router.Get("/v1/specs/{spec}", Needs::kViewer,
             [&state](Call call) { ShowSpec(state, std::move(call)); });
  router.Get("/v1/specs", Needs::kViewer,
             [&state](Call call) { ListSpecs(state, std::move(call)); });
}

}  // namespace tidemill
