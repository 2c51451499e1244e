// SPDX-License-Identifier: Apache-2.0
#include "cli/run_item.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "cli/format.h"
#include "cli/locate.h"
#include "cli/open_items.h"
#include "cli/send_code.h"
#include "cli/spec_file.h"
#include "cli/stores.h"
#include "wire/blob_json.h"
#include "wire/submit_json.h"
#include "yaml/yaml.h"

namespace tidemill::cli {
namespace {

// One item of a list, and how many it has.
struct Picked {
  std::string text;
  std::int64_t count = 0;
};

Result<Picked> PickFrom(ItemSource& source, std::int64_t item) {
  Picked picked;
  while (true) {
    TIDEMILL_TRY(const std::string part, source.Next());
    if (part.empty()) break;
    const std::int64_t first = picked.count;
    picked.count = source.items();
    if (item < first || item >= picked.count) continue;
    std::size_t at = 0;
    for (std::int64_t i = first; i < item; ++i) at = part.find('\n', at) + 1;
    picked.text = part.substr(at, part.find('\n', at) - at);
    if (picked.text.ends_with('\r')) picked.text.pop_back();
  }
  if (item < picked.count) return picked;
  return Fail(Code::kNotFound, source.name() + " has " + CountOf(picked.count, "item") +
                                   ", from number 0 on: there is no item " + Thousands(item));
}

class ItemRunner {
 public:
  ItemRunner(AsioLoop& loop, Random& random, const Console& console, const Surroundings& around,
             const RunItemFlags& flags)
      : loop_(loop), random_(random), console_(console), around_(around), flags_(flags) {}

  int Run() {
    for (const auto step : {&ItemRunner::ReadSpec, &ItemRunner::ReadItem, &ItemRunner::ReadCode}) {
      if (const auto wrong = (this->*step)(); !wrong) {
        console_.ErrLine(wrong.error().reason);
        return wrong.error().code == Code::kInvalid ? kWrongUse : ExitOf(wrong.error().code);
      }
    }
    return RunHere(loop_, console_, around_, flags_.here, std::move(work_));
  }

 private:
  Result<void> ReadSpec();
  Result<void> ReadItem();
  Result<void> ReadCode();
  Stores& stores() {
    if (!stores_) stores_.emplace(loop_, random_, around_.world());
    return *stores_;
  }

  AsioLoop& loop_;
  Random& random_;
  const Console& console_;
  const Surroundings& around_;
  const RunItemFlags& flags_;
  LoadedSpec spec_;
  std::optional<Stores> stores_;
  HereWork work_;
};

Result<void> ItemRunner::ReadSpec() {
  const bool is_input = flags_.spec == "-";
  if (is_input && flags_.items == "-") {
    return Fail(Code::kInvalid, "standard input cannot be both the spec and the items");
  }
  SpecEdits edits{.name = {}, .env = {}, .params = {}};
  for (const std::string& text : flags_.env) {
    TIDEMILL_TRY(auto pair, SplitPair(text));
    edits.env.push_back(std::move(pair));
  }
  for (const std::string& text : flags_.params) {
    TIDEMILL_TRY(auto pair, SplitPair(text));
    edits.params.push_back(std::move(pair));
  }
  const auto text = ReadFile(is_input ? "/dev/stdin" : flags_.spec, kYamlBytes);
  if (!text) {
    return Fail(Code::kInvalid,
                "cannot read " + flags_.spec + "; a spec is a file, as for tidemill submit");
  }
  TIDEMILL_TRY(spec_, LoadSpec(*text, is_input ? "spec" : flags_.spec, std::move(edits)));
  work_.item.job.id = {1};
  work_.item.job.spec = spec_.parsed.job;
  work_.item.job.spec.document = spec_.document;
  work_.item.job.state = JobState::kActive;
  return {};
}

Result<void> ItemRunner::ReadItem() {
  OneItem& item = work_.item;
  item.item = flags_.item;
  if (flags_.items.empty()) {
    item.job.items = flags_.range.value_or(1);
    // Without a list, a number is as good as any.
    if (!flags_.range) item.job.items = std::max(item.job.items, flags_.item + 1);
    if (item.item < item.job.items) return {};
    return Fail(Code::kNotFound,
                "there is no item " + Thousands(item.item) + " of " + Thousands(item.job.items));
  }
  TIDEMILL_TRY(auto opened, OpenItems(
                                flags_.items, [this]() -> Stores& { return stores(); },
                                [](const ListState&) {}, {PathMap(spec_.parsed.paths), nullptr}));
  TIDEMILL_TRY(Picked picked, PickFrom(opened.source, flags_.item));
  item.text = std::move(picked.text);
  item.job.items = picked.count;
  return {};
}

// As it is sent when the job is submitted.
Result<void> ItemRunner::ReadCode() {
  const std::string& code = spec_.parsed.run.code;
  if (code.empty()) return {};
  if (!BlobNameOf(code).empty()) {
    return Fail(Code::kInvalid, "its code is " + code + ", which only a server has; name a folder");
  }
  TIDEMILL_TRY(work_.code,
               PackCode(console_, [this]() -> Stores& { return stores(); }, code, flags_.spec));
  TIDEMILL_TRY(
      work_.item.job.spec.document,
      EditSpec(spec_.document,
               {.name = {}, .code = "blob:" + Hex(Sha256(work_.code)), .env = {}, .params = {}}));
  return {};
}

}  // namespace

int RunItem(AsioLoop& loop, Random& random, const Console& console, const Surroundings& around,
            const RunItemFlags& flags) {
  return ItemRunner(loop, random, console, around, flags).Run();
}

}  // namespace tidemill::cli
