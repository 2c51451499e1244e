// SPDX-License-Identifier: Apache-2.0
#include "cli/target.h"

#include <optional>
#include <utility>

#include "cli/contexts.h"
#include "cli/locate.h"

namespace tidemill::cli {
namespace {

constexpr std::size_t kTokenBytes = 200;

// That of whoever runs `tidemill up`; empty if it is not ours to read.
std::string UpToken(const UpFile& up) {
  std::string token = ReadFile(up.token_file, kTokenBytes).value_or("");
  while (!token.empty() && token.back() == '\n') token.pop_back();
  return token;
}

void TakeContext(Target& target, const SavedContext& context) {
  target.url = context.server;
  target.token = context.token;
  target.context = context.name;
  if (target.ca_file.empty()) target.ca_pem = context.ca;
  if (target.project.empty()) target.project = context.project;
}

// A server that is named by its URL. What is known of it comes from where it is known.
Result<Target> FromUrl(const Surroundings& around, bool root, const std::string& url,
                       Target target) {
  target.url = url;
  target.ca_file = FindCa(around, root, target.ca_file, url);
  target.token = around.Env("TIDEMILL_TOKEN").value_or("");
  if (!target.token.empty()) return target;
  if (const auto up = FindUp(around, root); up && IsSameServer(up->server, url)) {
    target.token = UpToken(*up);
    if (!target.token.empty()) return target;
  }
  TIDEMILL_TRY(const ContextsFile file, ReadContexts(around));
  TIDEMILL_TRY(const SavedContext* const context, FindByServer(file, url));
  if (context != nullptr) TakeContext(target, *context);
  return target;
}

Result<Target> FromContext(const ContextsFile& file, const std::string& name, Target target) {
  const SavedContext* const context = file.Find(name);
  if (context == nullptr) return NoSuchContext(file, name);
  TakeContext(target, *context);
  return target;
}

}  // namespace

std::string FindCa(const Surroundings& around, bool root, const std::string& told,
                   const std::string& url) {
  if (!told.empty()) return told;
  if (const auto named = around.Env("TIDEMILL_CA")) return *named;
  const auto up = FindUp(around, root);
  return up && IsSameServer(up->server, url) ? up->ca : "";
}

Result<Target> FindTarget(const Surroundings& around, bool root, const TargetFlags& flags) {
  Target told;
  told.ca_file = flags.ca;
  told.project =
      flags.project.empty() ? around.Env("TIDEMILL_PROJECT").value_or("") : flags.project;
  std::string server = flags.server;
  std::string context = flags.context;
  if (!server.empty() && !context.empty()) {
    return Fail(Code::kInvalid, "which one?  --server and --context are both given");
  }
  if (server.empty() && context.empty()) {
    server = around.Env("TIDEMILL_SERVER").value_or("");
    context = around.Env("TIDEMILL_CONTEXT").value_or("");
    if (!server.empty() && !context.empty()) {
      return Fail(Code::kInvalid,
                  "which one?  TIDEMILL_SERVER and TIDEMILL_CONTEXT are both set; unset one");
    }
  }
  if (!server.empty()) return FromUrl(around, root, server, std::move(told));
  TIDEMILL_TRY(const ContextsFile file, ReadContexts(around));
  if (context.empty()) context = file.current;
  if (!context.empty()) return FromContext(file, context, std::move(told));
  if (const auto up = FindUp(around, root)) {
    return FromUrl(around, root, up->server, std::move(told));
  }
  return Fail(Code::kUnavailable,
              "which server?  You have signed in to none, and no tidemill up runs here.\n"
              "Start one:  tidemill up     Sign in to one:  tidemill login URL");
}

Result<std::shared_ptr<const TlsTrust>> TrustOf(const Target& target, const Origin& origin) {
  if (origin.tls && target.ca_file.empty() && !target.ca_pem.empty()) {
    return TlsTrust::Pem(target.ca_pem);
  }
  return TlsTrust::For({origin}, target.ca_file);
}

int ExplainTarget(const Console& console, const Error& error) {
  console.ErrLine(error.reason);
  switch (error.code) {
    case Code::kUnavailable:
      return kNoServer;
    case Code::kNotFound:
      return kNoSuchThing;
    case Code::kForbidden:
      return kNotAllowed;
    case Code::kInvalid:
      return kWrongUse;
    default:
      return kFailed;
  }
}

}  // namespace tidemill::cli
