// SPDX-License-Identifier: Apache-2.0
#include "cli/tokens.h"

#include <utility>

#include "base/wipe.h"
#include "cli/format.h"
#include "cli/pages.h"
#include "cli/table.h"
#include "wire/access_json.h"

namespace tidemill::cli {
namespace {

// So many digits of an id are shown, and are enough to name it.
constexpr std::size_t kIdDigits = 8;

std::string ShortId(const Token& token) { return ToString(token.id).substr(0, kIdDigits); }

std::string ProjectText(const std::string& project) {
  return project.empty() ? "all projects" : "project " + Printable(project);
}

NewToken Wanted(const TokenFlags& flags) {
  NewToken token;
  token.name = flags.name;
  token.project = flags.project;
  if (flags.join.empty()) {
    token.role = ParseRole(flags.role).value_or(Role::kViewer);
    token.life = std::chrono::hours(24) * flags.days;
    return token;
  }
  token.kind = TokenKind::kJoin;
  token.pool = flags.join;
  if (token.name.empty()) token.name = "pool " + flags.join;
  if (flags.uses > 0) token.uses = static_cast<std::int32_t>(flags.uses);
  token.life = std::chrono::minutes(flags.minutes);
  return token;
}

// What a token is for must be there before it.
std::string HowToMake(const Context& context, const TokenFlags& flags, const std::string& reason) {
  const std::string& project = flags.project.empty() ? context.target.project : flags.project;
  if (reason.find("pool") == std::string::npos) {
    return "Make it first:  tidemill project set " + (project.empty() ? "NAME" : project);
  }
  return "Make it first:  tidemill pool set " + flags.join + " --default";
}

void Show(const Context& context, const MadeToken& made) {
  const Console& console = context.console;
  const Token& token = made.token;
  const std::int64_t now_ms = context.around.now_ms();
  const std::string until =
      "good until " + ClockText(token.expires_ms, now_ms, context.around.zone_s);
  if (token.kind == TokenKind::kJoin) {
    const std::string machines =
        token.uses_left ? "for " + CountOf(*token.uses_left, "join") : "for any number of joins";
    console.Line("Join token " + ShortId(token) + " of pool " + token.pool + " in " +
                 ProjectText(token.project) + ": " + machines + ", " + until);
  } else {
    console.Line("Token " + ShortId(token) + " for '" + Printable(token.name) +
                 "': " + std::string(RoleName(token.role)) + " in " + ProjectText(token.project) +
                 ", " + until);
  }
  console.Line(made.secret);
  console.Line("Keep it: it is shown only now.");
  if (token.kind == TokenKind::kJoin) {
    const Target& target = context.target;
    const bool has_ca = !target.ca_file.empty() || !target.ca_pem.empty();
    console.Line("On the machine:  tidemill-agent --server " + context.client.url() +
                 (has_ca ? " --ca FILE" : "") + " --state FOLDER --join-token-file FILE");
  } else {
    console.Line("Whoever gets it signs in with:  tidemill login " + context.client.url());
  }
}

Result<Token> Revoke(const Context& context, const Token& token) {
  TIDEMILL_TRY(const std::string body, context.client.Delete("/v1/tokens/" + ToString(token.id)));
  if (context.console.json) context.console.Line(body);
  return token;
}

}  // namespace

std::string TokenState(const Token& token, std::int64_t now_ms) {
  if (token.revoked_ms > 0) return "revoked";
  if (token.expires_ms <= now_ms) return "expired";
  if (token.uses_left && *token.uses_left == 0) return "used up";
  return "good";
}

std::string TokensText(const std::vector<Token>& tokens, std::int64_t now_ms, std::size_t width,
                       bool colours) {
  if (tokens.empty()) return "no tokens.  Make one:  tidemill token create --name N --role R\n";
  std::vector<std::vector<Cell>> rows;
  for (const Token& token : tokens) {
    const std::string state = TokenState(token, now_ms);
    const bool good = state == "good";
    rows.push_back({ShortId(token), Printable(token.name),
                    token.kind == TokenKind::kJoin ? "joins " + Printable(token.pool)
                                                   : std::string(RoleName(token.role)),
                    token.project.empty() ? std::string(kAllProjects) : Printable(token.project),
                    token.made_by.empty() ? "-" : Printable(token.made_by),
                    WhenText(token.created_ms, now_ms), WhenText(token.expires_ms, now_ms),
                    token.used_ms == 0 ? "never" : WhenText(token.used_ms, now_ms),
                    Cell(state, good ? Colour::kPlain : Colour::kDim)});
  }
  return FormatTable({{"ID"},
                      {"NAME"},
                      {"ROLE"},
                      {"PROJECT"},
                      {"MADE BY"},
                      {"MADE"},
                      {"EXPIRES"},
                      {"LAST USED"},
                      {"STATE"}},
                     rows, width, colours);
}

Result<Token> FindByPrefix(const std::vector<Token>& tokens, const std::string& prefix) {
  std::vector<Token> found;
  for (const Token& token : tokens) {
    if (!prefix.empty() && ToString(token.id).starts_with(prefix)) found.push_back(token);
  }
  if (found.empty()) {
    return Fail(Code::kNotFound, "no token '" + prefix + "'; tidemill token list shows them");
  }
  if (found.size() == 1) return found[0];
  std::string ids;
  for (const Token& token : found) ids += " " + ToString(token.id);
  return Fail(Code::kInvalid, "several tokens begin with '" + prefix + "':" + ids);
}

std::string WrongToken(const TokenFlags& flags) {
  if (flags.join.empty() == flags.role.empty()) {
    return "for whom?  --name N --role R for a person, or --join POOL for machines";
  }
  if (!flags.join.empty()) {
    if (flags.days > 0) return "--days is for a person's token; a join token has --minutes";
    return flags.project == kAllProjects ? "--project: a pool has just one" : "";
  }
  if (flags.name.empty()) return "whose is it?  --name N: it stands in the audit";
  if (flags.uses > 0) return "--uses is for a join token";
  return flags.minutes > 0 ? "--minutes is for a join token; a person's has --days" : "";
}

int CreateToken(const Context& context, const TokenFlags& flags) {
  const Console& console = context.console;
  // Said again, it would make another one, which nobody would know of.
  auto body =
      context.client.Post("/v1/tokens", FormatNewToken(Wanted(flags)), {.busy = {}, .away = {}});
  if (!body && body.error().code == Code::kUnknown && !context.client.interrupted()) {
    console.ErrLine("the server did not answer: " + body.error().reason);
    console.ErrLine("The token may be there all the same: look with  tidemill token list");
    return kNoServer;
  }
  if (!body) {
    const int code = Explain(console, context.client, body.error());
    if (code == kNoSuchThing) console.ErrLine(HowToMake(context, flags, body.error().reason));
    return code;
  }
  if (console.json) {
    console.Line(*body);
    return kDone;
  }
  auto made = ParseMadeToken(*body);
  Wipe(*body);
  if (!made) return Explain(console, context.client, made.error());
  if (console.quiet) {
    console.Line(made->secret);
  } else {
    Show(context, *made);
  }
  Wipe(made->secret);
  return kDone;
}

int ListTokens(const Context& context) {
  return PrintAll<Token>(
      context, "/v1/tokens", ParseTokens, [](const Token& token) { return ToString(token.id); },
      [&](const std::vector<Token>& tokens) {
        return TokensText(tokens, context.around.now_ms(), context.console.columns,
                          context.console.colours);
      });
}

int RevokeTokens(const Context& context, const std::vector<std::string>& ids) {
  const Console& console = context.console;
  const auto tokens =
      FetchAll<Token>(context.client, "/v1/tokens", ParseTokens, [](const std::string&) {});
  if (!tokens) return Explain(console, context.client, tokens.error());
  // All are found before the first is revoked: a slip of the pen revokes none.
  std::vector<Token> wanted;
  for (const std::string& id : ids) {
    const auto found = FindByPrefix(*tokens, id);
    if (!found) return Explain(console, context.client, found.error());
    wanted.push_back(*found);
  }
  for (const Token& token : wanted) {
    const auto revoked = Revoke(context, token);
    if (!revoked) return Explain(console, context.client, revoked.error());
    if (console.json) continue;
    console.Line(console.quiet ? ToString(token.id)
                               : "Token " + ShortId(token) + " of '" + Printable(token.name) +
                                     "' is revoked: it is good for nothing from now on");
  }
  return kDone;
}

}  // namespace tidemill::cli
