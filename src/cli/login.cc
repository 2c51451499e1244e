// SPDX-License-Identifier: Apache-2.0
#include "cli/login.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/wipe.h"
#include "cli/contexts.h"
#include "cli/format.h"
#include "cli/locate.h"
#include "cli/prompt.h"
#include "cli/table.h"
#include "cli/target.h"
#include "model/token.h"
#include "net/http.h"
#include "wire/access_json.h"

namespace tidemill::cli {
namespace {

// A token and the line ends around it.
constexpr std::size_t kMaxTokenInput = 1000;
constexpr std::size_t kCaBytes = 64 << 10;
constexpr std::size_t kNameBytes = 300;

// As names of hosts are, with a port.
bool IsContextName(const std::string& name) {
  const auto fits = [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-' || c == ':' || c == '[' || c == ']';
  };
  return !name.empty() && name.size() <= kNameBytes && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), fits);
}

Result<std::string> ReadToken(const LoginFlags& flags) {
  if (!flags.token_file.empty()) return ReadInputFile(flags.token_file, kMaxTokenInput);
  if (!IsAtTerminal()) return ReadInput(kMaxTokenInput);
  return AskHidden("Token for " + flags.url + " (it is not shown): ");
}

Result<std::string> AskToken(const LoginFlags& flags) {
  TIDEMILL_TRY(std::string text, ReadToken(flags));
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  std::string token = text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
  Wipe(text);
  if (token.empty()) return Fail(Code::kInvalid, "no token was given");
  if (IsToken(kJoinPrefix, token)) {
    return Fail(Code::kInvalid,
                "this is a machine's token: it is for tidemill-agent --join-token-file");
  }
  if (!IsToken(kApiPrefix, token)) {
    return Fail(Code::kInvalid, "this is not a whole token: they begin with '" +
                                    std::string(kApiPrefix) +
                                    "' and are made with tidemill token "
                                    "create");
  }
  return token;
}

Result<std::string> ReadCa(const std::string& file) {
  if (file.empty()) return std::string();
  auto text = ReadFile(file, kCaBytes);
  if (!text) return Fail(Code::kInvalid, "--ca: cannot read " + file);
  return *std::move(text);
}

// A second sign-in to a server takes the place of the first.
Result<std::string> ChooseName(const ContextsFile& file, const SavedContext& fresh,
                               const std::string& told, const std::string& usual) {
  if (told.empty()) {
    const SavedContext* found = nullptr;
    int count = 0;
    for (const SavedContext& context : file.contexts) {
      if (!IsSameServer(context.server, fresh.server)) continue;
      found = &context;
      ++count;
    }
    if (count == 1) return found->name;
  }
  const std::string name = told.empty() ? usual : told;
  const SavedContext* const old = file.Find(name);
  if (old == nullptr || IsSameServer(old->server, fresh.server)) return name;
  return Fail(Code::kConflict,
              "context '" + name + "' is of " + old->server + "; give another name:  --name NAME");
}

Result<void> Keep(const Surroundings& around, SavedContext& fresh, const std::string& told,
                  const std::string& usual) {
  return ChangeContexts(around, [&](ContextsFile& file) -> Result<void> {
    TIDEMILL_TRY(fresh.name, ChooseName(file, fresh, told, usual));
    std::erase_if(file.contexts,
                  [&](const SavedContext& context) { return context.name == fresh.name; });
    file.contexts.push_back(fresh);
    file.current = fresh.name;
    return {};
  });
}

// How the same server is always called.
std::string UrlOf(const Origin& origin) {
  return (origin.tls ? "https://" : "http://") + Authority(origin);
}

}  // namespace

std::string RoleText(const Caller& caller) {
  return std::string(RoleName(caller.role)) +
         (caller.project.empty() ? " in all projects" : " in project " + Printable(caller.project));
}

std::string SignedInText(const SavedContext& context, const Caller& caller) {
  const bool chosen = caller.project.empty() && !context.project.empty();
  return "Signed in to " + context.server + " as '" + Printable(caller.name) + "' (" +
         RoleText(caller) + (chosen ? ", here in " + context.project : "") + "); context '" +
         context.name + "' is now the current one.";
}

std::string ContextsText(const ContextsFile& file, std::size_t width, bool colours) {
  if (file.contexts.empty()) return "no context yet.  Sign in to a server:  tidemill login URL\n";
  std::vector<std::vector<Cell>> rows;
  for (const SavedContext& context : file.contexts) {
    const bool current = context.name == file.current;
    rows.push_back({current ? "*" : "",
                    Cell(context.name, current ? Colour::kBold : Colour::kPlain), context.server,
                    context.project.empty() ? "-" : context.project});
  }
  return FormatTable({{""}, {"CONTEXT"}, {"SERVER"}, {"PROJECT"}}, rows, width, colours);
}

int Login(AsioLoop& loop, const Console& console, const Surroundings& around, bool root,
          const LoginFlags& flags) {
  auto origin = ParseSafeUrl(flags.url);
  if (!origin) {
    console.ErrLine("'" + flags.url + "' is not a server's address: " + origin.error().reason);
    return kWrongUse;
  }
  if (!flags.name.empty() && !IsContextName(flags.name)) {
    console.ErrLine("--name: letters, digits, '.', '_', '-' and ':'");
    return kWrongUse;
  }
  // Found out before the person types.
  if (const auto contexts = ReadContexts(around); !contexts) {
    return ExplainTarget(console, contexts.error());
  }
  SavedContext fresh;
  fresh.server = UrlOf(*origin);
  fresh.project = flags.project;
  auto ca = ReadCa(FindCa(around, root, flags.ca, fresh.server));
  if (!ca) return ExplainTarget(console, ca.error());
  fresh.ca = origin->tls ? *std::move(ca) : "";
  Target target;
  target.ca_pem = fresh.ca;
  const auto trust = TrustOf(target, *origin);
  if (!trust) {
    console.ErrLine("--ca: " + trust.error().reason);
    return kWrongUse;
  }
  auto token = AskToken(flags);
  if (!token && token.error().code == Code::kUnknown) return kInterrupted;
  if (!token) return ExplainTarget(console, token.error());
  fresh.token = *std::move(token);
  const std::string usual = Authority(*origin);
  Client client(loop, console, fresh.server, *std::move(origin), *trust,
                {.token = fresh.token, .project = fresh.project});
  const auto body = client.Get("/v1/whoami");
  if (!body && client.forbidden()) {
    console.ErrLine("this token is not good at " + fresh.server + ": " + body.error().reason);
    console.ErrLine("Ask an admin for another one; nothing was kept.");
    return kNotAllowed;
  }
  if (!body) return Explain(console, client, body.error());
  const auto caller = ParseCaller(*body);
  if (!caller) return Explain(console, client, caller.error());
  fresh.token_id = ToString(caller->token);
  if (const auto kept = Keep(around, fresh, flags.name, usual); !kept) {
    return ExplainTarget(console, kept.error());
  }
  if (console.json) {
    console.Line(FormatSignedIn(fresh, *caller));
  } else {
    console.Line(console.quiet ? fresh.name : Wrap(SignedInText(fresh, *caller), console.columns));
  }
  return kDone;
}

int Logout(const Console& console, const Surroundings& around, const std::string& name) {
  SavedContext gone;
  bool was_current = false;
  const auto done = ChangeContexts(around, [&](ContextsFile& file) -> Result<void> {
    const std::string wanted = name.empty() ? file.current : name;
    if (wanted.empty()) {
      return Fail(Code::kNotFound,
                  "no context is the current one; say which:  tidemill logout NAME");
    }
    const SavedContext* const found = file.Find(wanted);
    if (found == nullptr) return NoSuchContext(file, wanted);
    gone = *found;
    std::erase_if(file.contexts, [&](const SavedContext& each) { return each.name == wanted; });
    was_current = file.current == wanted;
    if (was_current) file.current.clear();
    return {};
  });
  if (!done) return ExplainTarget(console, done.error());
  if (console.json) {
    console.Line(FormatContextList({.current = {}, .contexts = {gone}}));
    return kDone;
  }
  if (console.quiet) return kDone;
  console.Line("Context '" + gone.name + "' is forgotten" +
               (was_current ? ", and no other is the current one." : "."));
  console.Line(
      "Its token is good until it expires; an admin can revoke it:  tidemill token revoke " +
      (gone.token_id.empty() ? "ID" : gone.token_id.substr(0, 8)));
  return kDone;
}

int ListContexts(const Console& console, const Surroundings& around) {
  const auto file = ReadContexts(around);
  if (!file) return ExplainTarget(console, file.error());
  if (console.json) {
    console.Line(FormatContextList(*file));
  } else if (console.quiet) {
    for (const SavedContext& context : file->contexts) console.Line(context.name);
  } else {
    console.out(ContextsText(*file, console.columns, console.colours));
  }
  return kDone;
}

int UseContext(const Console& console, const Surroundings& around, const std::string& name) {
  SavedContext used;
  const auto done = ChangeContexts(around, [&](ContextsFile& file) -> Result<void> {
    const SavedContext* const found = file.Find(name);
    if (found == nullptr) return NoSuchContext(file, name);
    used = *found;
    file.current = name;
    return {};
  });
  if (!done) return ExplainTarget(console, done.error());
  if (console.json) {
    console.Line(FormatContextList({.current = used.name, .contexts = {used}}));
  } else {
    console.Line(console.quiet
                     ? name
                     : "Context '" + name + "' (" + used.server + ") is now the current one.");
  }
  return kDone;
}

int WhoAmI(const Context& context) {
  const Console& console = context.console;
  const auto body = context.client.Get("/v1/whoami");
  if (!body) return Explain(console, context.client, body.error());
  if (console.json) {
    console.Line(*body);
    return kDone;
  }
  const auto caller = ParseCaller(*body);
  if (!caller) return Explain(console, context.client, caller.error());
  if (console.quiet) {
    console.Line(Printable(caller->name));
    return kDone;
  }
  const Target& target = context.target;
  console.Line("'" + Printable(caller->name) + "': " + RoleText(*caller));
  console.Line("at " + target.url +
               (target.context.empty() ? "" : ", context '" + target.context + "'") +
               (target.project.empty() ? "" : ", project " + target.project));
  console.Line("token " + ToString(caller->token));
  return kDone;
}

}  // namespace tidemill::cli
