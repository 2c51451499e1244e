// SPDX-License-Identifier: Apache-2.0
#include "cli/submit.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "cli/format.h"
#include "cli/jobs.h"
#include "cli/locate.h"
#include "cli/open_items.h"
#include "cli/send_code.h"
#include "cli/spec_file.h"
#include "cli/specs.h"
#include "cli/watch.h"
#include "wire/job_json.h"
#include "yaml/yaml.h"

namespace tidemill::cli {
namespace {

// Once the job is made the address is known to be right: whoever is away comes back.
constexpr Patience kPatient{.busy = std::chrono::minutes(5), .away = std::chrono::minutes(5)};
constexpr Patience kFirst{.busy = std::chrono::minutes(5), .away = {}};
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
        context_.client.Post(JobTarget(job_, "/seal"), FormatSeal(sent_.parts), kPatient);
    if (!sealed) return Broken(sealed.error());
    const auto took = context_.client.loop().Now() - began;
    Tell(*sealed, took / std::chrono::milliseconds(1));
    return flags_.watch ? Watch(context_, job_) : kDone;
  }

 private:
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
    std::string file = flags_.spec;
    std::string yaml;
    if (!flags_.example.empty()) {
      example_ = FindExample(flags_.example);
      if (example_ == nullptr) return Wrong("no example '" + flags_.example + "'; there is: hello");
      file = flags_.example;
      yaml = example_->yaml;
    } else if (const auto kept = KeptSpecOf(file)) {
      const auto spec = FetchSpec(context_.client, *kept);
      if (!spec) return NotKept(file, spec.error());
      file = kept->name;
      yaml = spec->document;
    } else if (auto text = ReadSpec(file)) {
      yaml = *std::move(text);
    } else {
      return Wrong(text.error().reason);
    }
    auto spec = LoadSpec(yaml, file == "-" ? "spec" : file, std::move(edits));
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

  // The spec that is stored names what was sent, not a folder of this machine.
  std::optional<int> AddCode() {
    const std::string& code = spec_.parsed.run.code;
    if (code.empty()) return std::nullopt;
    const auto blob =
        SendCode(context_, [this]() -> Stores& { return stores(); }, code, flags_.spec);
    if (!blob && blob.error().of_server) {
      return Explain(context_.console, context_.client, blob.error().error);
    }
    if (!blob) {
      const std::string hint = StoreHint(code, blob.error().error.code);
      context_.console.ErrLine(blob.error().error.reason);
      if (IsStoreUrl(code) && !hint.empty()) context_.console.ErrLine(hint);
      return IsStoreUrl(code) ? ExitOf(blob.error().error.code) : kWrongUse;
    }
    auto document = EditSpec(spec_.document, {.name = {}, .code = *blob, .env = {}, .params = {}});
    if (!document) return Wrong(document.error().reason);
    spec_.document = *std::move(document);
    return std::nullopt;
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

  // A file of that name goes before a spec that the server keeps.
  static std::optional<SpecRef> KeptSpecOf(const std::string& file) {
    if (::access(file.c_str(), F_OK) == 0 || errno != ENOENT) return std::nullopt;
    return ParseSpecRef(file);
  }

  int NotKept(const std::string& name, const Error& error) const {
    const bool answered = context_.client.reached() && !context_.client.forbidden();
    if (!answered || error.code != Code::kNotFound) {
      return Explain(context_.console, context_.client, error);
    }
    context_.console.ErrLine("cannot read " + name + ": no such file, and " + error.reason +
                             " on the server");
    return kNoSuchThing;
  }

  static Result<std::string> ReadSpec(const std::string& file) {
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

  std::optional<int> Create() {
    key_ = flags_.key;
    if (key_.empty()) key_ = "cli-" + FormatUuid(random_.Next(), random_.Next());
    const auto body = context_.client.Post("/v1/jobs", FormatNewJob(key_, spec_.document), kFirst);
    if (!body) return Explain(context_.console, context_.client, body.error());
    const auto job = ParseJob(*body);
    if (!job) return Explain(context_.console, context_.client, job.error());
    job_ = PublicId(*job);
    note_ = ParseImageNote(*body).value_or("");
    return std::nullopt;
  }

  std::optional<int> Fill() {
    if (source_) return FillFromSource();
    std::int64_t left = flags_.range.value_or(example_ != nullptr ? example_->items : 1);
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
                             kPatient);
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
    if (!flags_.watch) console.Line("Follow it with:  tidemill watch " + job_);
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
