// SPDX-License-Identifier: Apache-2.0
#include "cli/submit.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/format.h"
#include "cli/jobs.h"
#include "cli/open_items.h"
#include "cli/spec_file.h"
#include "cli/spec_source.h"
#include "cli/watch.h"
#include "wire/job_json.h"

namespace tidemill::cli {
namespace {

// Once the job is made the address is known to be right: whoever is away comes back.
constexpr Patience kSubmitPatience{.busy = std::chrono::minutes(5),
                                   .away = std::chrono::minutes(5)};
constexpr Patience kSubmitFirst{.busy = std::chrono::minutes(5), .away = {}};
// A part of 8 MiB over a slow line, and the server's work on it.
constexpr std::chrono::milliseconds kPartTimeout{120'000};

struct Sent {
  std::int64_t parts = 0;
  std::int64_t items = 0;
  std::int64_t bytes = 0;
};

class Submission {
 public:
  Submission(const Context& context, Random& random, const SubmitFlags& flags)
      : context_(context), random_(random), flags_(flags) {}

  int Run() {
    const TimePoint began = context_.client.loop().Now();
    if (const auto wrong = Prepare()) return *wrong;
    if (const auto wrong = AddCode()) return *wrong;
    if (const auto wrong = Create()) return *wrong;
    if (const auto wrong = Fill()) return *wrong;
    const auto sealed =
        context_.client.Post(JobTarget(job_, "/seal"), FormatSeal(sent_.parts), kSubmitPatience);
    if (!sealed) return Broken(sealed.error());
    const auto took = context_.client.loop().Now() - began;
    Tell(*sealed, took / std::chrono::milliseconds(1));
    return Follows() ? Watch(context_, job_, flags_.then) : kDone;
  }

 private:
  bool Follows() const { return flags_.watch || !flags_.then.empty(); }

  int Wrong(const std::string& why) const {
    context_.console.ErrLine(why);
    return kWrongUse;
  }

  // Reads the spec and opens the items, so that nothing is sent if either is wrong.
  std::optional<int> Prepare() {
    if (flags_.spec == "-" && flags_.items == "-") {
      return Wrong("standard input cannot be both the spec and the items");
    }
    SpecEdits edits{.name = flags_.name, .env = {}, .params = {}, .wishes = flags_.wishes};
    for (const auto& [texts, pairs] :
         {std::pair(&flags_.env, &edits.env), std::pair(&flags_.params, &edits.params)}) {
      for (const std::string& text : *texts) {
        auto pair = SplitPair(text);
        if (!pair) return Wrong(pair.error().reason);
        pairs->push_back(*std::move(pair));
      }
    }
    SpecSource source;
    if (!flags_.example.empty()) {
      example_ = FindExample(flags_.example);
      if (example_ == nullptr) return Wrong("no example '" + flags_.example + "'; there is: hello");
      source = {flags_.example, std::string(example_->yaml)};
    } else if (auto read = ReadSpecSource(context_, flags_.spec)) {
      source = *std::move(read);
    } else {
      return read.error();
    }
    auto spec = LoadSpec(source.yaml, source.name, std::move(edits));
    if (!spec) return Wrong(spec.error().reason);
    spec_ = *std::move(spec);
    if (flags_.items.empty()) return std::nullopt;
    return OpenList();
  }

  // With its first part, because a list that is wrong or empty mostly shows there.
  std::optional<int> OpenList() {
    if (!flags_.upload.empty()) {
      if (!IsStoreUrl(flags_.upload)) {
        return Wrong("--upload is a URL such as s3://bucket/inputs/, not '" + flags_.upload + "'");
      }
      uploader_.emplace(stores(), flags_.upload,
                        [this](const UploadState& state) { ShowUpload(state); });
    }
    auto items = OpenItems(
        flags_.items, [this]() -> Stores& { return stores(); },
        [this](const ListState& state) { ShowListing(state); },
        {PathMap(spec_.parsed.paths), uploader_ ? &*uploader_ : nullptr});
    if (!items) return WrongList(items.error());
    source_.emplace(std::move(items->source));
    listed_ = std::move(items->listed);
    auto part = source_->Next();
    if (!part) return WrongList(part.error());
    if (part->empty()) return Wrong(source_->name() + " has no items: every line is one");
    first_part_ = *std::move(part);
    return std::nullopt;
  }

  Stores& stores() {
    if (!stores_) stores_.emplace(context_.client.loop(), random_, context_.around.world());
    return *stores_;
  }

  std::optional<int> AddCode() {
    return SendCodeOf(context_, [this]() -> Stores& { return stores(); }, flags_.spec, spec_);
  }

  int WrongList(const Error& error) const {
    ClearListing();
    context_.console.ErrLine(error.reason);
    // What was listed to its end was found; only nothing of it matches.
    const bool is_found = listed_ && listed_->ended;
    const bool needs_hint = IsStoreUrl(flags_.items) && !is_found;
    const std::string hint = needs_hint ? StoreHint(flags_.items, error.code) : "";
    if (!hint.empty()) context_.console.ErrLine(hint);
    return IsStoreUrl(flags_.items) ? ExitOf(error.code) : kWrongUse;
  }

  void ShowListing(const ListState& state) const {
    const Console& console = context_.console;
    if (!console.err_terminal || console.quiet || console.json) return;
    if (state.ended) return ClearListing();
    console.err("\r\x1b[K" + Clip("listing: " + ListedText(state), console.columns - 1));
  }
  void ShowUpload(const UploadState& state) const {
    const Console& console = context_.console;
    if (!console.err_terminal || console.quiet || console.json) return;
    console.err("\r\x1b[K" + Clip("storing: " + UploadText(state), console.columns - 1));
  }
  static std::string UploadText(const UploadState& state) {
    std::string text = CountOf(state.files, "file") + ", " + DecimalBytesText(state.bytes);
    if (state.were_there > 0) text += ", " + Thousands(state.were_there) + " there already";
    return text;
  }
  void ClearListing() const {
    if (context_.console.err_terminal && (listed_ || uploader_)) context_.console.err("\r\x1b[K");
  }
  static std::string ListedText(const ListState& state) {
    const double seconds = static_cast<double>(std::max<std::int64_t>(state.took_ms, 1)) / 1000;
    return Thousands(state.matched) + " of " + CountOf(state.seen, "object") + " match, " +
           RateText(static_cast<double>(state.seen) / seconds);
  }

  std::optional<int> Create() {
    key_ = flags_.key;
    if (key_.empty()) key_ = "cli-" + FormatUuid(random_.Next(), random_.Next());
    const auto body = context_.client.Post(
        "/v1/jobs", FormatNewJob(key_, spec_.document, flags_.open), kSubmitFirst);
    if (!body) return Explain(context_.console, context_.client, body.error());
    const auto job = ParseJob(*body);
    if (!job) return Explain(context_.console, context_.client, job.error());
    job_ = PublicId(*job);
    note_ = ParseImageNote(*body).value_or("");
    return std::nullopt;
  }

  std::optional<int> Fill() {
    if (source_) return FillFromSource();
    // An open job may begin with nothing: its items come later.
    const std::int64_t one = flags_.open ? 0 : 1;
    std::int64_t left = flags_.range.value_or(example_ != nullptr ? example_->items : one);
    while (left > 0) {
      const std::int64_t some = std::min(left, limits::kItemsPerRangePart);
      if (const auto wrong = Put("application/json", FormatRange(some))) return wrong;
      sent_.items += some;
      left -= some;
    }
    return std::nullopt;
  }

  std::optional<int> FillFromSource() {
    std::string part = std::move(first_part_);
    while (!part.empty()) {
      if (const auto wrong = Put("text/plain", std::move(part))) return wrong;
      sent_.items = source_->items();
      sent_.bytes = source_->bytes();
      auto next = source_->Next();
      if (!next) {
        DropDraft();
        return WrongList(next.error());
      }
      part = *std::move(next);
    }
    ClearListing();
    return std::nullopt;
  }

  std::optional<int> Put(const std::string& type, std::string body) {
    const auto answer =
        context_.client.Call({.method = "PUT",
                              .target = JobTarget(job_, "/parts/" + std::to_string(sent_.parts)),
                              .content_type = type,
                              .body = std::move(body),
                              .timeout = kPartTimeout},
                             kSubmitPatience);
    if (!answer && answer.error().code == Code::kInvalid && source_) {
      DropDraft();
      return Wrong(source_->name() + ", from line " + Thousands(source_->part_line()) +
                   " on: " + answer.error().reason);
    }
    if (!answer) return Broken(answer.error());
    ++sent_.parts;
    return std::nullopt;
  }

  // The items are wrong, so the draft is of no use to anybody.
  void DropDraft() {
    [[maybe_unused]] const auto gone = context_.client.Post(JobTarget(job_, "/cancel"), "");
  }

  int Broken(const Error& error) {
    const int exit = Explain(context_.console, context_.client, error, job_);
    context_.console.ErrLine(job_ + " is not submitted; the same command with --key " + key_ +
                             " takes it up where it was");
    return exit;
  }

  void Tell(const std::string& sealed, std::int64_t took_ms) {
    const Console& console = context_.console;
    if (console.json) return console.Line(sealed);
    if (console.quiet) return console.Line(job_);
    std::string line = job_ + " submitted: " + CountOf(sent_.items, "item");
    if (source_) {
      line += " (" + DecimalBytesText(sent_.bytes) + ", " + DurationText(took_ms);
      if (listed_) line += "; " + ListedText(*listed_);
      if (uploader_) line += "; stored " + UploadText(uploader_->state());
      line += ")";
    } else {
      const std::string& image = spec_.parsed.run.image;
      if (!image.empty()) line += ", image " + image;
      line += ", " + NeedsText(spec_.parsed.job);
      if (sent_.items > 1) line += " each";
    }
    console.Line(Clip(line, console.columns));
    if (!note_.empty()) console.Line("The image is not pinned yet: " + Printable(note_));
    if (flags_.open) console.Line("Add items with:  tidemill add " + job_ + " --items LIST");
    if (!Follows()) console.Line("Follow it with:  tidemill watch " + job_);
  }

  const Context& context_;
  Random& random_;
  const SubmitFlags& flags_;
  const Example* example_ = nullptr;
  LoadedSpec spec_;
  std::optional<Stores> stores_;
  std::optional<Uploader> uploader_;
  std::optional<ItemSource> source_;
  std::shared_ptr<const ListState> listed_;
  std::string first_part_;
  std::string key_;
  std::string job_;
  std::string note_;  // why the image is not pinned
  Sent sent_;
};

}  // namespace

int Submit(const Context& context, Random& random, const SubmitFlags& flags) {
  return Submission(context, random, flags).Run();
}

}  // namespace tidemill::cli
