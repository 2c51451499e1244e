// SPDX-License-Identifier: Apache-2.0
#include "server/jobs.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "base/limits.h"
#include "submit/cut.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

// Jobs whose counts are kept; more are counted each time they are asked for.
constexpr std::size_t kShownJobs = 1000;
constexpr Duration kShownLife = seconds(1);
// Chunks read at once for a page of items, and for the histograms of a job.
constexpr int kChunksAtOnce = 64;
// Text of one page of items; a page that would have more ends early.
constexpr std::size_t kPageBytes = 1 << 20;
constexpr int kStatsAtOnce = 256;

Result<NewPart> MakePart(const PartRequest& request) {
  NewPart part;
  part.number = request.number;
  if (request.range_items > 0) {
    part.range_items = request.range_items;
    part.digest = Sha256("range " + std::to_string(request.range_items));
    return part;
  }
  TIDEMILL_TRY(CutPart cut, CutLines(request.text));
  part.digest = Sha256(request.text);
  for (CutChunk& chunk : cut.chunks) part.chunks.push_back({chunk.length, std::move(chunk.body)});
  return part;
}

// Adds the items of one chunk to a page; false when the page is full.
Result<bool> AddItems(Store& store, const Chunk& chunk, const ItemsRequest& request, ItemPage& page,
                      std::size_t& bytes) {
  Bits wanted = request.state ? ItemsIn(chunk, *request.state) : Bits::All(chunk.length());
  const int from = chunk.key.chunk == request.from.chunk ? request.from.offset : 0;
  std::optional<std::vector<std::string>> texts;
  for (int i = wanted.FindFrom(from); i >= 0; i = wanted.FindFrom(i + 1)) {
    if (static_cast<int>(page.items.size()) == request.limit || bytes >= kPageBytes) {
      page.next = ItemPlace{chunk.key.chunk, i};
      return false;
    }
    if (!texts) {
      TIDEMILL_TRY(const ChunkItems packed, store.FindItems(chunk.key));
      texts.emplace();
      if (!packed.body.empty()) {
        TIDEMILL_TRY(texts, UnpackItems(packed.body, packed.length));
      }
    }
    ListedItem& item = page.items.emplace_back();
    item.item = chunk.first_item + i;
    item.state = StateOf(chunk, i);
    if (!texts->empty()) item.text = std::move((*texts)[static_cast<std::size_t>(i)]);
    bytes += item.text.size();
  }
  return true;
}

Result<ItemPage> MakePage(Store& store, const ItemsRequest& request) {
  ItemPage page;
  std::size_t bytes = 0;
  ChunkFilter filter{.from = request.from.chunk, .state = request.state, .limit = kChunksAtOnce};
  while (true) {
    TIDEMILL_TRY(const std::vector<Chunk> chunks, store.ListChunks(request.job, filter));
    for (const Chunk& chunk : chunks) {
      TIDEMILL_TRY(const bool more, AddItems(store, chunk, request, page, bytes));
      if (!more) return page;
    }
    if (static_cast<int>(chunks.size()) < filter.limit) return page;
    filter.from = chunks.back().key.chunk + 1;
  }
}

Result<Summary> AddUp(Store& store, JobId id) {
  TIDEMILL_TRY_VOID(store.FindJob(id));
  Summary sum;
  std::int32_t from = 0;
  while (true) {
    TIDEMILL_TRY(const std::vector<ChunkStat> stats, store.ListStats(id, from, kStatsAtOnce));
    // A chunk with several rounds must not be torn: its last rows come with the next look.
    const bool last = static_cast<int>(stats.size()) < kStatsAtOnce;
    const std::int32_t end = last ? INT32_MAX : stats.back().chunk.chunk;
    for (const ChunkStat& stat : stats) {
      if (stat.chunk.chunk >= end) break;
      TIDEMILL_TRY(const Summary summary, Summary::Decode(stat.summary));
      sum.Merge(summary);
    }
    if (last) return sum;
    if (end == from) return Fail(Code::kInternal, "a chunk was reopened too often to add up");
    from = end;
  }
}

}  // namespace

template <typename T, typename Call>
void Jobs::Ask(Call call, Reply<T> reply) {
  OnStore(deps_, std::move(call),
          [reply = std::move(reply)](Result<T> result) { reply(std::move(result)); });
}

template <typename T, typename Call>
void Jobs::Change(JobId id, Call call, Reply<T> reply) {
  Ask<T>(std::move(call), [this, id, reply = std::move(reply)](Result<T> result) {
    shown_.erase(id);
    // It may be over now, or have to be brought to its end.
    sweep_soon_(id);
    reply(std::move(result));
  });
}

void Jobs::Create(NewJob job, Reply<Job> reply) {
  Ask<Job>([job = std::move(job)](Store& store) { return store.CreateJob(job); }, std::move(reply));
}

void Jobs::AddPart(JobId id, PartRequest part, Reply<Job> reply) {
  Change<Job>(
      id,
      [id, part = std::move(part)](Store& store) -> Result<Job> {
        TIDEMILL_TRY(const NewPart made, MakePart(part));
        return store.AddPart(id, made);
      },
      std::move(reply));
}

void Jobs::Seal(JobId id, std::int32_t parts, Reply<Job> reply) {
  Change<Job>(id, [id, parts](Store& store) { return store.SealJob(id, parts); }, std::move(reply));
}

void Jobs::Close(JobId id, Reply<Job> reply) {
  Change<Job>(id, [id](Store& store) { return store.CloseJob(id); }, std::move(reply));
}

void Jobs::Pause(JobId id, Reply<Job> reply) {
  Change<Job>(id, [id](Store& store) { return store.PauseJob(id); }, std::move(reply));
}

void Jobs::Resume(JobId id, Reply<Job> reply) {
  Change<Job>(id, [id](Store& store) { return store.ResumeJob(id); }, std::move(reply));
}

void Jobs::Cancel(JobId id, Reply<Job> reply) {
  Change<Job>(id, [id](Store& store) { return store.CancelJob(id); }, std::move(reply));
}

void Jobs::Retry(JobId id, ReopenWhich which, Reply<Reopened> reply) {
  Change<Reopened>(
      id, [id, which = std::move(which)](Store& store) { return store.ReopenJob(id, which); },
      std::move(reply));
}

void Jobs::List(JobFilter filter, Reply<std::vector<Job>> reply) {
  Ask<std::vector<Job>>([filter](Store& store) { return store.ListJobs(filter); },
                        std::move(reply));
}

void Jobs::Show(JobId id, Reply<JobCounts> reply) {
  const TimePoint now = deps_.loop.Now();
  std::erase_if(shown_, [now](const auto& entry) { return now - entry.second.at > kShownLife; });
  const auto found = shown_.find(id);
  if (found != shown_.end()) {
    reply(found->second.counts);
    return;
  }
  OnStore(
      deps_, [id](Store& store) { return store.CountItems(id); },
      [this, id, now, reply = std::move(reply)](Result<JobCounts> counts) {
        if (counts && shown_.size() < kShownJobs) shown_[id] = {*counts, now};
        reply(std::move(counts));
      });
}

void Jobs::Items(ItemsRequest request, Reply<ItemPage> reply) {
  Ask<ItemPage>([request](Store& store) { return MakePage(store, request); }, std::move(reply));
}

void Jobs::Stats(JobId id, Reply<Summary> reply) {
  Ask<Summary>([id](Store& store) { return AddUp(store, id); }, std::move(reply));
}

void Jobs::ChunkBody(ChunkKey key, Reply<ChunkItems> reply) {
  Ask<ChunkItems>([key](Store& store) { return store.FindItems(key); }, std::move(reply));
}

}  // namespace tidemill
