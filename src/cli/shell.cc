// SPDX-License-Identifier: Apache-2.0
#include "cli/shell.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/item_stream.h"
#include "cli/raw_terminal.h"
#include "cli/shell_pump.h"
#include "cli/shell_session.h"
#include "wire/stream_json.h"

namespace tidemill::cli {
namespace {

class ItemShell {
 public:
  ItemShell(const Context& context, const ShellFlags& flags, const WrapStream& wrap)
      : context_(context),
        flags_(flags),
        wrap_(wrap),
        has_keyboard_(IsTerminal(STDIN_FILENO)),
        is_shown_(IsTerminal(STDOUT_FILENO)) {}

  int Run() {
    const StreamAsk ask = MakeAsk();
    auto stream = AwaitItemStream(context_.client, {flags_.job, *flags_.item, ask});
    if (!stream) return TellNoShell(stream.error());
    if (wrap_) *stream = wrap_(*std::move(stream));
    ShellSeat seat{.has_keys = ask.terminal && has_keyboard_};
    if (ask.terminal && is_shown_) seat.size = frame::TerminalSize{ask.rows, ask.columns};
    if (seat.has_keys) TellHowToLeave();
    const auto end = Sit(*std::move(stream), seat);
    if (!end) {
      context_.console.ErrLine(end.error().reason);
      return kFailed;
    }
    return Tell(FarewellOf(*end, flags_.job, *flags_.item, Program()), seat.has_keys);
  }

 private:
  StreamAsk MakeAsk() const {
    StreamAsk ask{.command = flags_.command};
    ask.terminal = flags_.terminal || (!flags_.no_terminal && has_keyboard_ && is_shown_);
    if (!ask.terminal) return ask;
    if (const auto size = SizeOfTerminal(STDOUT_FILENO)) {
      ask.rows = size->rows;
      ask.columns = size->columns;
    }
    const auto term = context_.around.Env("TERM");
    if (term && IsTermName(*term)) ask.term = *term;
    return ask;
  }

  std::string Program() const { return flags_.command.empty() ? "sh" : flags_.command.front(); }

  int TellNoShell(const Error& error) const {
    const int exit = Explain(context_.console, context_.client, error);
    if (context_.client.reached() && error.code == Code::kConflict) {
      context_.console.ErrLine("Those that run:  tidemill items " + flags_.job +
                               " --state running");
    }
    return exit;
  }

  void TellHowToLeave() const {
    if (context_.console.quiet) return;
    context_.console.ErrLine("item " + std::to_string(*flags_.item) + " of " + flags_.job +
                             ", in its container. Enter ~ . leaves; so does the end of the shell.");
  }

  // The terminal is as it was when this returns.
  Result<ShellEnd> Sit(std::unique_ptr<ByteStream> stream, const ShellSeat& seat) {
    std::optional<RawTerminal> raw;
    if (seat.has_keys) {
      raw.emplace(STDIN_FILENO);
      if (!raw->ok()) {
        return Fail(Code::kInternal,
                    std::string("cannot use the terminal: ") + std::strerror(errno));
      }
    }
    return ShellSession(context_.client.loop(), std::move(stream), seat).Run();
  }

  int Tell(const ShellFarewell& farewell, bool has_keys) const {
    // The cursor is where the program left it.
    if (!farewell.line.empty()) context_.console.ErrLine((has_keys ? "\n" : "") + farewell.line);
    if (!farewell.next.empty()) context_.console.ErrLine(farewell.next);
    return farewell.exit;
  }

  const Context& context_;
  const ShellFlags& flags_;
  const WrapStream& wrap_;
  const bool has_keyboard_;
  const bool is_shown_;
};

}  // namespace

bool IsTermName(const std::string& term) {
  const auto may_be_in = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '+' || c == '-';
  };
  return !term.empty() && term.size() <= kStreamTermBytes &&
         std::all_of(term.begin(), term.end(), may_be_in);
}

int OpenItemShell(const Context& context, const ShellFlags& flags, const WrapStream& wrap) {
  if (context.console.json) {
    context.console.ErrLine("tidemill shell has no --json: what it prints is the program's own");
    return kWrongUse;
  }
  return ItemShell(context, flags, wrap).Run();
}

}  // namespace tidemill::cli
