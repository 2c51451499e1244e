// SPDX-License-Identifier: Apache-2.0
#include "wire/contexts_json.h"

#include <algorithm>
#include <utility>

#include "wire/access_json.h"
#include "wire/json.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Value;

constexpr std::size_t kContextNameBytes = 300;  // a host's name, and its port
constexpr std::size_t kContextUrlBytes = 2000;
constexpr std::size_t kContextTokenBytes = 200;
constexpr std::size_t kPemBytes = 64 << 10;

// Text with line breaks in it, as PEM has.
Result<std::string> ReadPem(const Fields& fields) {
  const Value* const value = fields.Find("ca");
  if (value == nullptr) return std::string();
  if (!value->is_string()) return json::Wrong(fields.In("ca"), "must be a string");
  auto text = value->get<std::string>();
  if (text.size() > kPemBytes) return json::Wrong(fields.In("ca"), "is too long");
  return text;
}

Result<SavedContext> ReadContext(const Fields& fields) {
  SavedContext context;
  TIDEMILL_TRY(context.name, fields.Text("name", {.most_bytes = kContextNameBytes}));
  TIDEMILL_TRY(context.server, fields.Text("server", {.most_bytes = kContextUrlBytes}));
  TIDEMILL_TRY(context.token, fields.Text("token", {.most_bytes = kContextTokenBytes}));
  TIDEMILL_TRY(context.token_id, fields.Text("token_id", {.most_bytes = 36, .absent = ""}));
  TIDEMILL_TRY(context.ca, ReadPem(fields));
  TIDEMILL_TRY(context.project,
               fields.Text("project", {.most_bytes = limits::kNameBytes, .absent = ""}));
  return context;
}

// All but the token and the CA.
std::string PublicPart(const SavedContext& context) {
  std::string out = "{";
  json::AppendText(out, "name", context.name);
  json::AppendText(out, "server", context.server);
  if (!context.project.empty()) json::AppendText(out, "project", context.project);
  if (!context.token_id.empty()) json::AppendText(out, "token_id", context.token_id);
  return out;
}

template <typename Format>
std::string FormatList(const ContextsFile& file, std::string_view between, Format format) {
  std::string list = "[";
  for (const SavedContext& context : file.contexts) {
    list.append(list.size() > 1 ? "," : "").append(between).append(format(context));
  }
  std::string out = "{";
  if (!file.current.empty()) json::AppendText(out, "current", file.current);
  json::AppendValue(out, "contexts", list.append(between).append("]"));
  return out + "}";
}

}  // namespace

const SavedContext* ContextsFile::Find(std::string_view name) const {
  const auto found =
      std::find_if(contexts.begin(), contexts.end(),
                   [&](const SavedContext& context) { return context.name == name; });
  return found == contexts.end() ? nullptr : &*found;
}

std::string FormatContexts(const ContextsFile& file) {
  return FormatList(file, "\n",
                    [](const SavedContext& context) {
                      std::string out = PublicPart(context);
                      json::AppendText(out, "token", context.token);
                      if (!context.ca.empty()) json::AppendText(out, "ca", context.ca);
                      return out + "}";
                    }) +
         "\n";
}

Result<ContextsFile> ParseContexts(std::string_view text) {
  TIDEMILL_TRY(const Value value, json::Parse(text));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  ContextsFile file;
  TIDEMILL_TRY(file.current,
               fields.Text("current", {.most_bytes = kContextNameBytes, .absent = ""}));
  TIDEMILL_TRY_VOID(
      json::ReadEach(fields, "contexts", kMostContexts, [&](const Fields& each) -> Result<void> {
        TIDEMILL_TRY(SavedContext context, ReadContext(each));
        if (file.Find(context.name) != nullptr) {
          return json::Wrong(each.In("name"), "stands there twice");
        }
        file.contexts.push_back(std::move(context));
        return {};
      }));
  if (!file.current.empty() && file.Find(file.current) == nullptr) {
    return json::Wrong(fields.In("current"), "there is no such context");
  }
  return file;
}

std::string FormatContextList(const ContextsFile& file) {
  return FormatList(file, "",
                    [](const SavedContext& context) { return PublicPart(context) + "}"; });
}

std::string FormatSignedIn(const SavedContext& context, const Caller& caller) {
  std::string out = "{";
  json::AppendValue(out, "context", PublicPart(context) + "}");
  json::AppendValue(out, "caller", FormatCaller(caller));
  return out + "}";
}

}  // namespace tidemill
