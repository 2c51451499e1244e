// SPDX-License-Identifier: Apache-2.0
#include "cli/specs.h"

#include <charconv>
#include <utility>

#include "base/limits.h"
#include "cli/format.h"
#include "cli/pages.h"
#include "cli/prompt.h"
#include "cli/spec_file.h"
#include "cli/table.h"
#include "model/job.h"
#include "net/http.h"
#include "wire/kept_spec_json.h"
#include "yaml/yaml.h"

namespace tidemill::cli {
namespace {

std::string TargetOf(const std::string& name) { return "/v1/specs/" + PercentEncode(name); }

bool IsFileName(std::string_view text) {
  return text.ends_with(".yaml") || text.ends_with(".yml") || text.ends_with(".json");
}

// A spec without a name is called as it is kept.
Result<std::string> DocumentOf(const std::string& yaml, const std::string& file,
                               const std::string& name) {
  TIDEMILL_TRY(const LoadedSpec as_it_is, LoadSpec(yaml, file, {}));
  TIDEMILL_TRY(const YamlText text, ToJson(yaml));
  TIDEMILL_TRY(const ParsedSpec parsed, ParseSpec(text.json));
  if (!parsed.job.name.empty()) return as_it_is.document;
  TIDEMILL_TRY(LoadedSpec named, LoadSpec(yaml, file, {.name = name, .env = {}, .params = {}}));
  return std::move(named.document);
}

}  // namespace

std::optional<SpecRef> ParseSpecRef(std::string_view text) {
  const std::size_t at = text.find('@');
  SpecRef ref{std::string(text.substr(0, at)), {}};
  if (!IsName(ref.name) || ref.name.size() > limits::kNameBytes || IsFileName(ref.name)) {
    return std::nullopt;
  }
  if (at == std::string_view::npos) return ref;
  const std::string_view digits = text.substr(at + 1);
  std::int32_t version = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), version);
  if (error != std::errc{} || end != digits.data() + digits.size() || version < 1) {
    return std::nullopt;
  }
  ref.version = version;
  return ref;
}

std::string SpecsText(const std::vector<KeptSpec>& specs, std::int64_t now_ms, std::size_t width,
                      bool colours) {
  if (specs.empty()) return "no specs.  Keep one:  tidemill spec put NAME FILE\n";
  std::vector<std::vector<Cell>> rows;
  for (const KeptSpec& spec : specs) {
    rows.push_back({Printable(spec.name), std::to_string(spec.version),
                    AgoText(spec.created_ms, now_ms), Printable(spec.made_by)});
  }
  return FormatTable({{"SPEC"}, {"VERSION", true}, {"MADE"}, {"BY"}}, rows, width, colours);
}

Result<KeptSpec> FetchSpec(Client& client, const SpecRef& ref) {
  const std::string query = ref.version ? "?version=" + std::to_string(*ref.version) : "";
  TIDEMILL_TRY(const std::string body, client.Get(TargetOf(ref.name) + query));
  return ParseKeptSpec(body);
}

int PutSpec(const Context& context, const std::string& name, const std::string& file) {
  const Console& console = context.console;
  if (!CheckName(console, "a spec's", name)) return kWrongUse;
  if (IsFileName(name)) {
    console.ErrLine("'" + name + "' would be taken for a file; leave its ending away");
    return kWrongUse;
  }
  const auto yaml = ReadInputFile(file, kYamlBytes);
  const auto document =
      yaml ? DocumentOf(*yaml, file == "-" ? "spec" : file, name) : Result<std::string>(yaml);
  if (!document) {
    console.ErrLine(document.error().reason);
    return kWrongUse;
  }
  const auto body = context.client.Put(TargetOf(name), FormatSpecToKeep(*document));
  if (!body) return Explain(console, context.client, body.error());
  const auto kept = ParseKeptSpec(*body);
  if (!kept) return Explain(console, context.client, kept.error());
  const std::string ref = name + "@" + std::to_string(kept->version);
  if (console.json) {
    console.Line(*body);
  } else if (console.quiet) {
    console.Line(ref);
  } else {
    console.Line(ref + " is kept. Submit it with:  tidemill submit " + name);
  }
  return kDone;
}

int ListSpecs(const Context& context) {
  return PrintAll<KeptSpec>(
      context, "/v1/specs", ParseKeptSpecs,
      [](const KeptSpec& spec) { return Printable(spec.name); },
      [&](const std::vector<KeptSpec>& specs) {
        return SpecsText(specs, context.around.now_ms(), context.console.columns,
                         context.console.colours);
      });
}

int ShowSpec(const Context& context, const std::string& ref) {
  const Console& console = context.console;
  const auto parsed = ParseSpecRef(ref);
  if (!parsed) {
    console.ErrLine("'" + ref + "' is no kept spec; write NAME, or NAME@VERSION");
    return kWrongUse;
  }
  const auto spec = FetchSpec(context.client, *parsed);
  if (!spec) return Explain(console, context.client, spec.error());
  if (console.json) {
    console.Line(FormatKeptSpec(*spec));
  } else if (console.quiet) {
    console.Line(spec->name + "@" + std::to_string(spec->version));
  } else {
    console.Line(IndentedSpec(*spec));
  }
  return kDone;
}

int RemoveSpec(const Context& context, const std::string& name) {
  const Console& console = context.console;
  if (!CheckName(console, "a spec's", name)) return kWrongUse;
  const auto done = context.client.Delete(TargetOf(name));
  if (!done) return Explain(console, context.client, done.error());
  if (console.json) {
    console.Line("{\"name\":\"" + name + "\"}");
  } else {
    console.Line(console.quiet ? name : "Spec " + name + " is removed, with all its versions");
  }
  return kDone;
}

}  // namespace tidemill::cli
