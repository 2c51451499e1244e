// SPDX-License-Identifier: Apache-2.0
#include "cli/spec_source.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/format.h"
#include "cli/locate.h"
#include "cli/send_code.h"
#include "cli/specs.h"
#include "cli/stores.h"
#include "wire/submit_json.h"
#include "yaml/yaml.h"

namespace tidemill::cli {
namespace {

int Wrong(const Context& context, const std::string& why) {
  context.console.ErrLine(why);
  return kWrongUse;
}

std::optional<SpecRef> KeptSpecOf(const std::string& file) {
  if (::access(file.c_str(), F_OK) == 0 || errno != ENOENT) return std::nullopt;
  return ParseSpecRef(file);
}

int NotKept(const Context& context, const std::string& name, const Error& error) {
  const bool answered = context.client.reached() && !context.client.forbidden();
  if (!answered || error.code != Code::kNotFound) {
    return Explain(context.console, context.client, error);
  }
  context.console.ErrLine("cannot read " + name + ": no such file, and " + error.reason +
                          " on the server");
  return kNoSuchThing;
}

Result<std::string> ReadSpecFile(const std::string& file) {
  const std::string path = file == "-" ? "/dev/stdin" : file;
  if (::access(path.c_str(), R_OK) != 0) {
    return Fail(Code::kInvalid, "cannot read " + file + ": " + std::strerror(errno));
  }
  auto text = ReadFile(path, kYamlBytes);
  if (!text) {
    return Fail(Code::kInvalid, "cannot read " + file + ": a spec is a file of at most " +
                                    Thousands(static_cast<std::int64_t>(kYamlBytes)) + " bytes");
  }
  return *std::move(text);
}

}  // namespace

tl::expected<SpecSource, int> ReadSpecSource(const Context& context, const std::string& spec) {
  if (const auto kept = KeptSpecOf(spec)) {
    auto found = FetchSpec(context.client, *kept);
    if (!found) return tl::unexpected(NotKept(context, spec, found.error()));
    return SpecSource{kept->name, std::move(found->document)};
  }
  auto text = ReadSpecFile(spec);
  if (!text) return tl::unexpected(Wrong(context, text.error().reason));
  return SpecSource{spec == "-" ? "spec" : spec, *std::move(text)};
}

std::optional<int> SendCodeOf(const Context& context, const MakeStores& stores,
                              const std::string& file, LoadedSpec& spec) {
  const std::string& code = spec.parsed.run.code;
  if (code.empty()) return std::nullopt;
  const auto blob = SendCode(context, stores, code, file);
  if (!blob && blob.error().of_server) {
    return Explain(context.console, context.client, blob.error().error);
  }
  if (!blob) {
    const std::string hint = StoreHint(code, blob.error().error.code);
    context.console.ErrLine(blob.error().error.reason);
    if (IsStoreUrl(code) && !hint.empty()) context.console.ErrLine(hint);
    return IsStoreUrl(code) ? ExitOf(blob.error().error.code) : kWrongUse;
  }
  auto document = EditSpec(spec.document, {.name = {}, .code = *blob, .env = {}, .params = {}});
  if (!document) return Wrong(context, document.error().reason);
  spec.document = *std::move(document);
  return std::nullopt;
}

}  // namespace tidemill::cli
