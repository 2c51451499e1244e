// SPDX-License-Identifier: Apache-2.0
#include "cli/watch_bucket.h"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "arrivals/bucket.h"
#include "arrivals/receiver.h"
#include "arrivals/said.h"
#include "cli/bucket_view.h"
#include "cli/stores.h"
#include "objects/listing.h"
#include "wire/arrival_json.h"

namespace tidemill::cli {
namespace {

// A watcher outlasts its server: it says once in so long that there is none, and asks on.
constexpr Patience kBucketPatience{.busy = std::chrono::minutes(5),
                                   .away = std::chrono::minutes(5)};
constexpr std::chrono::milliseconds kPostTimeout{60'000};
// One transaction of the server, of some ten milliseconds.
constexpr std::size_t kItemsPerCall = 1'000;
// A server that is well has answered by then; else no more messages are received.
constexpr std::chrono::seconds kServerIsSlow{5};
// How often the line is drawn anew.
constexpr Duration kTick = std::chrono::seconds(1);
// A folder is read anew for each page, and files are near.
constexpr int kObjectsPerPage = 50'000;

bool MayPass(Code code) {
  return code == Code::kUnavailable || code == Code::kUnknown || code == Code::kExhausted;
}

class BucketWatcher {
 public:
  BucketWatcher(const Context& context, Random& random, const WatchBucketFlags& flags)
      : context_(context),
        flags_(flags),
        loop_(context.client.loop()),
        world_(context.around.world()),
        stores_(loop_, random, world_),
        times_(loop_.Now(), flags.every),
        view_(context, flags.source.url) {}

  int Run() {
    auto source = OpenBucket(stores_, world_, flags_.source);
    if (!source) {
      context_.console.ErrLine(source.error().reason);
      return kWrongUse;
    }
    source_ = *std::move(source);
    if (source_.queue) receiver_.emplace(loop_, *source_.queue, [this] { loop_.Stop(); });
    const MakeStores stores = [this]() -> Stores& { return stores_; };
    auto job = FindBucketJob(context_, stores, flags_.job, source_.url);
    if (!job) return job.error();
    job_ = *std::move(job);
    view_.Begin(job_, flags_.once);
    while (true) {
      if (const auto exit = TakeMessages()) return Leave(*exit);
      if (const auto exit = TakePage()) return Leave(*exit);
      if (context_.client.interrupted()) return Leave(kInterrupted);
      if (!is_listing_ && loop_.Now() >= times_.next()) BeginListing();
      if (receiver_) receiver_->SetOpen(true);
      totals_.is_listing = is_listing_;
      totals_.waiting = receiver_ ? static_cast<std::int64_t>(receiver_->held()) : 0;
      view_.Draw(totals_);
      if (!page_ && !(receiver_ && receiver_->held() > 0)) Wait();
    }
  }

 private:
  // --- listing ---

  void BeginListing() {
    if (times_.Begin(loop_.Now())) said_.Clear();
    is_listing_ = true;
    listed_ = {};
    began_ = loop_.Now();
    const WatchedBucket& bucket = source_.bucket;
    const bool is_file = bucket.place.kind == ObjectUrl::Kind::kFile;
    listing_.emplace(loop_, *source_.store,
                     Listing::Options{.prefixes = source_.prefixes,
                                      .wants = bucket.wants,
                                      .tags = true,
                                      .page = is_file ? kObjectsPerPage : 1000});
    AskForPage();
  }

  void AskForPage() {
    listing_->Next([this](Result<std::vector<ListedObject>> page) {
      page_ = std::move(page);
      loop_.Stop();
    });
  }

  // Gives an exit code if that is the end of it all.
  std::optional<int> TakePage() {
    if (!page_) return std::nullopt;
    const Result<std::vector<ListedObject>> page = *std::exchange(page_, std::nullopt);
    if (!page) return BreakListing(page.error());
    if (page->empty()) return EndListing();
    // The store is asked for the next page while the server takes this one.
    AskForPage();
    const FoundItems found = ItemsOf(source_.bucket, *page);
    listed_.objects += static_cast<std::int64_t>(page->size());
    totals_.listed = listed_.objects;
    totals_.unfit += found.unfit;
    const std::int64_t before = totals_.added;
    const auto exit = Post(found.items, true);
    listed_.added += totals_.added - before;
    return exit;
  }

  std::optional<int> EndListing() {
    is_listing_ = false;
    listing_.reset();
    was_listed_ = true;
    times_.End(loop_.Now());
    listed_.took_ms = (loop_.Now() - began_) / std::chrono::milliseconds(1);
    totals_.listed = listed_.objects;
    view_.Listed(listed_, flags_.once);
    if (flags_.once) return kDone;
    return std::nullopt;
  }

  // The first one shows whether there is such a bucket, and whether we may.
  std::optional<int> BreakListing(const Error& error) {
    is_listing_ = false;
    listing_.reset();
    times_.Break(loop_.Now());
    if (flags_.once || (!was_listed_ && !MayPass(error.code))) {
      const std::string& url = flags_.source.url;
      view_.Clear();
      context_.console.ErrLine(url + ": " + error.reason);
      const std::string hint = StoreHint(url, error.code);
      if (!hint.empty()) context_.console.ErrLine(hint);
      return ExitOf(error.code);
    }
    view_.Trouble("bucket", error.reason);
    return std::nullopt;
  }

  // --- messages ---

  std::optional<int> TakeMessages() {
    if (!receiver_) return std::nullopt;
    if (const auto& trouble = receiver_->trouble(); trouble) {
      if (!receiver_->was_answered() && !MayPass(trouble->code)) {
        view_.Clear();
        context_.console.ErrLine("the queue: " + trouble->reason);
        return ExitOf(trouble->code);
      }
      if (!told_queue_) view_.Trouble("queue", trouble->reason);
    }
    told_queue_ = receiver_->trouble().has_value();
    const std::vector<ArrivalMessage> messages = receiver_->Take();
    if (messages.empty()) return std::nullopt;
    std::vector<Arrival> items;
    std::vector<std::string> read;
    for (const ArrivalMessage& message : messages) {
      if (!message.unread.empty()) {
        ++totals_.unread;
        view_.Unread(message.unread);
        continue;
      }
      FoundItems found = ItemsOf(source_.bucket, message);
      totals_.unfit += found.unfit;
      std::move(found.items.begin(), found.items.end(), std::back_inserter(items));
      read.push_back(message.handle);
    }
    if (const auto exit = Post(items, false)) return exit;
    // The server has answered for all of them. What is not taken away comes again, and is known.
    if (!read.empty()) source_.queue->Delete(std::move(read), [](const Result<void>&) {});
    return std::nullopt;
  }

  // --- the server ---

  std::optional<int> Post(const std::vector<Arrival>& found, bool by_listing) {
    std::vector<Arrival> items;
    for (const Arrival& item : found) {
      if (!said_.Has(item.once)) items.push_back(item);
    }
    BucketAdded event{.by_listing = by_listing};
    for (std::size_t at = 0; at < items.size(); at += kItemsPerCall) {
      const auto from = items.begin() + static_cast<std::ptrdiff_t>(at);
      const auto size = std::min(kItemsPerCall, items.size() - at);
      if (const auto exit = PostSome({from, from + static_cast<std::ptrdiff_t>(size)}, event)) {
        return exit;
      }
    }
    if (event.added > 0) totals_.last_ms = context_.around.now_ms();
    view_.Added(event);
    return std::nullopt;
  }

  std::optional<int> PostSome(const std::vector<Arrival>& items, BucketAdded& event) {
    const std::string body = FormatArrivals(items);
    // The client has a line of its own for a server that is away.
    view_.Clear();
    while (true) {
      const TimerId slow = loop_.After(kServerIsSlow, [this] {
        if (receiver_) receiver_->SetOpen(false);
      });
      const auto answer = context_.client.Call({.method = "POST",
                                                .target = JobTarget(job_, "/items"),
                                                .content_type = "application/json",
                                                .body = body,
                                                .timeout = kPostTimeout},
                                               kBucketPatience);
      loop_.Cancel(slow);
      if (context_.client.interrupted()) return kInterrupted;
      if (!answer && MayPass(answer.error().code)) continue;
      const auto added = answer ? ParseAdded(*answer) : tl::unexpected<Error>(answer.error());
      if (!added) {
        view_.Clear();
        return Explain(context_.console, context_.client, added.error(), job_);
      }
      event.added += added->added;
      event.known += added->known;
      totals_.added += added->added;
      totals_.known += added->known;
      for (const Arrival& item : items) said_.Add(item.once);
      return std::nullopt;
    }
  }

  int Leave(int exit) const {
    if (exit == kInterrupted) view_.Stopped();
    return exit;
  }

  // Until something comes, or it is time to list or to draw.
  void Wait() {
    const Duration until = is_listing_ ? kTick : times_.next() - loop_.Now();
    const TimerId timer =
        loop_.After(std::clamp(until, Duration::zero(), kTick), [this] { loop_.Stop(); });
    loop_.Run();
    loop_.Cancel(timer);
  }

  // Constant after construction.
  const Context& context_;
  const WatchBucketFlags& flags_;
  AsioLoop& loop_;
  const CloudWorld world_;

  // From what is watched to where it goes.
  Stores stores_;
  BucketSource source_;
  std::optional<Receiver> receiver_;
  std::string job_;

  ListingTimes times_;
  Said said_;
  std::optional<Listing> listing_;
  std::optional<Result<std::vector<ListedObject>>> page_;
  bool is_listing_ = false;
  bool was_listed_ = false;
  TimePoint began_{};
  BucketListed listed_;

  BucketTotals totals_;
  BucketView view_;
  bool told_queue_ = false;
};

}  // namespace

int WatchBucket(const Context& context, Random& random, const WatchBucketFlags& flags) {
  context.client.loop().OnSignal({SIGINT, SIGTERM},
                                 [&client = context.client](int) { client.Interrupt(); });
  return BucketWatcher(context, random, flags).Run();
}

}  // namespace tidemill::cli
