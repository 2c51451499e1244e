// SPDX-License-Identifier: Apache-2.0
#include "cli/add.h"

#include <optional>
#include <utility>

#include "cli/format.h"
#include "cli/open_items.h"
#include "cli/stores.h"
#include "net/http.h"
#include "wire/arrival_json.h"

namespace tidemill::cli {
namespace {

constexpr Patience kAddFirst{.busy = std::chrono::minutes(5), .away = {}};
constexpr Patience kAddPatience{.busy = std::chrono::minutes(5), .away = std::chrono::minutes(5)};
// 8 MiB over a slow line, and the server's work on it.
constexpr std::chrono::milliseconds kAddTimeout{120'000};

class Addition {
 public:
  Addition(const Context& context, Random& random, const AddFlags& flags)
      : context_(context), random_(random), flags_(flags), key_(flags.key) {
    if (key_.empty()) key_ = "cli-" + FormatUuid(random_.Next(), random_.Next());
  }

  int Run() {
    auto items =
        OpenItems(flags_.items, [this]() -> Stores& { return stores(); }, [](const ListState&) {});
    if (!items) return WrongList(items.error());
    while (true) {
      auto part = items->source.Next();
      if (!part) return WrongList(part.error());
      if (part->empty()) break;
      if (const auto wrong = Send(*std::move(part))) return *wrong;
    }
    if (parts_ == 0) {
      context_.console.ErrLine(items->source.name() + " has no items: every line is one");
      return kWrongUse;
    }
    Tell();
    return kDone;
  }

 private:
  Stores& stores() {
    if (!stores_) stores_.emplace(context_.client.loop(), random_, context_.around.world());
    return *stores_;
  }

  int WrongList(const Error& error) const {
    context_.console.ErrLine(error.reason);
    if (!IsStoreUrl(flags_.items)) return kWrongUse;
    const std::string hint = StoreHint(flags_.items, error.code);
    if (!hint.empty()) context_.console.ErrLine(hint);
    return ExitOf(error.code);
  }

  // The key of the first part is the call's own.
  std::string Target() const {
    const std::string key = parts_ == 0 ? key_ : key_ + "/" + std::to_string(parts_);
    return JobTarget(flags_.job, "/items?key=" + PercentEncode(key));
  }

  std::optional<int> Send(std::string part) {
    const Console& console = context_.console;
    const auto body = context_.client.Call({.method = "POST",
                                            .target = Target(),
                                            .content_type = "text/plain",
                                            .body = std::move(part),
                                            .timeout = kAddTimeout},
                                           parts_ == 0 ? kAddFirst : kAddPatience);
    if (!body) return Broken(body.error());
    const auto added = ParseAdded(*body);
    if (!added) return Explain(console, context_.client, added.error(), flags_.job);
    if (console.json) console.Line(*body);
    ++parts_;
    added_ += added->added;
    name_ = PublicId(added->job);
    return std::nullopt;
  }

  int Broken(const Error& error) const {
    const int exit = Explain(context_.console, context_.client, error, flags_.job);
    if (parts_ > 0) {
      context_.console.ErrLine(CountOf(added_, "item") + " of the list " +
                               (added_ == 1 ? "is" : "are") +
                               " added; the same command with --key " + key_ + " adds the rest");
    }
    return exit;
  }

  void Tell() const {
    const Console& console = context_.console;
    if (console.json) return;
    if (console.quiet) return console.Line(name_);
    console.Line(CountOf(added_, "item") + " added to " + name_ +
                 "\nFollow it with:  tidemill watch " + name_);
  }

  const Context& context_;
  Random& random_;
  const AddFlags& flags_;
  std::string key_;
  std::optional<Stores> stores_;
  int parts_ = 0;
  std::int64_t added_ = 0;
  std::string name_;
};

}  // namespace

int AddItems(const Context& context, Random& random, const AddFlags& flags) {
  return Addition(context, random, flags).Run();
}

}  // namespace tidemill::cli
