// SPDX-License-Identifier: Apache-2.0
#include "cli/secrets.h"

#include <utility>

#include "base/limits.h"
#include "base/wipe.h"
#include "cli/format.h"
#include "cli/prompt.h"
#include "cli/table.h"
#include "net/http.h"
#include "wire/access_json.h"

namespace tidemill::cli {
namespace {

std::string SecretTarget(const std::string& name) { return "/v1/secrets/" + PercentEncode(name); }

// Typed unseen, so typed twice.
Result<std::string> AskTwice(const std::string& name) {
  TIDEMILL_TRY(std::string first, AskHidden("Value of " + name + " (it is not shown): "));
  TIDEMILL_TRY(std::string second, AskHidden("The same once more: "));
  const bool same = first == second;
  Wipe(second);
  if (same) return first;
  Wipe(first);
  return Fail(Code::kInvalid, "the two are not the same; nothing was changed");
}

Result<std::string> ReadValue(const std::string& name, const std::string& file) {
  if (!file.empty()) return ReadInputFile(file, limits::kSecretBytes);
  if (IsAtTerminal()) return AskTwice(name);
  // One more for the line end that is left out.
  TIDEMILL_TRY(std::string value, ReadInput(limits::kSecretBytes + 1));
  if (value.ends_with('\n')) value.pop_back();
  if (value.size() <= limits::kSecretBytes) return value;
  Wipe(value);
  return Fail(Code::kInvalid,
              "standard input has more than " + std::to_string(limits::kSecretBytes) + " bytes");
}

// What the commands of one secret say at their end; a name of a secret needs no escapes.
void Say(const Console& console, const std::string& name, const std::string& text) {
  if (console.json) {
    console.Line("{\"name\":\"" + name + "\"}");
  } else {
    console.Line(console.quiet ? name : text);
  }
}

}  // namespace

std::string SecretsText(const std::vector<SecretInfo>& secrets, std::int64_t now_ms,
                        std::size_t width, bool colours) {
  if (secrets.empty()) return "no secrets.  Set one:  tidemill secret set NAME\n";
  std::vector<std::vector<Cell>> rows;
  for (const SecretInfo& secret : secrets) {
    rows.push_back(
        {Printable(secret.name), AgoText(secret.updated_ms, now_ms), Printable(secret.updated_by)});
  }
  return FormatTable({{"SECRET"}, {"SET"}, {"BY"}}, rows, width, colours);
}

int SetSecret(const Context& context, const std::string& name, const std::string& file) {
  const Console& console = context.console;
  if (!CheckName(console, "a secret's", name)) return kWrongUse;
  auto value = ReadValue(name, file);
  if (!value && value.error().code == Code::kUnknown) return kInterrupted;
  if (!value || value->empty()) {
    console.ErrLine(value ? "an empty value; to remove a secret:  tidemill secret rm " + name
                          : value.error().reason);
    return kWrongUse;
  }
  std::string body = FormatSecretValue(*value);
  Wipe(*value);
  const auto done = context.client.Put(SecretTarget(name), body);
  Wipe(body);
  if (!done) return Explain(console, context.client, done.error());
  Say(console, name,
      "Secret " + name + " is set. Items get it if their spec says:  secrets: [" + name + "]");
  return kDone;
}

int ListSecrets(const Context& context) {
  const Console& console = context.console;
  const auto body = context.client.Get("/v1/secrets");
  if (!body) return Explain(console, context.client, body.error());
  if (console.json) {
    console.Line(*body);
    return kDone;
  }
  const auto secrets = ParseSecrets(*body);
  if (!secrets) return Explain(console, context.client, secrets.error());
  if (console.quiet) {
    for (const SecretInfo& secret : *secrets) console.Line(Printable(secret.name));
    return kDone;
  }
  console.out(SecretsText(*secrets, context.around.now_ms(), console.columns, console.colours));
  return kDone;
}

int RemoveSecret(const Context& context, const std::string& name) {
  const Console& console = context.console;
  if (!CheckName(console, "a secret's", name)) return kWrongUse;
  const auto done = context.client.Delete(SecretTarget(name));
  const bool is_secret = !done && done.error().reason.find("secret") != std::string::npos;
  if (is_secret && context.client.reached() && done.error().code == Code::kNotFound) {
    console.ErrLine("no secret '" + name + "'; tidemill secret list shows them");
    return kNoSuchThing;
  }
  if (!done) return Explain(console, context.client, done.error());
  Say(console, name, "Secret " + name + " is removed; jobs that name it will pause");
  return kDone;
}

}  // namespace tidemill::cli
