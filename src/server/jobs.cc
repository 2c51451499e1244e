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

// What is over is counted once: it changes only by being reopened, which begins a new round.
bool IsOver(const Job& job) {
  return job.state == JobState::kFinished || job.state == JobState::kCancelled;
}

std::string NewUid(Random& random) {
  std::string bytes;
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t bits = random.Next();
    for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(bits >> shift));
  }
  return Hex(bytes);
}

// If so many machines agree, it is not they that are at fault.
constexpr std::size_t kMachinesAgree = 3;

// Three machines, or all of the project that get items if there are fewer.
Result<bool> IsEnough(Store& store, const Job& job, const TroubleWord& word) {
  if (word.insists || word.sessions.size() >= kMachinesAgree) return true;
  TIDEMILL_TRY(const std::vector<ListedMachine> machines,
               store.ListMachines({.project = job.project, .limit = limits::kPageRows}));
  std::size_t others = 0;
  for (const ListedMachine& machine : machines) {
    const bool gets_items = machine.session.state == SessionState::kAlive;
    if (gets_items && !word.sessions.contains(machine.session.id)) ++others;
  }
  return others == 0;
}

std::string ReasonOf(const TroubleWord& word) {
  const std::size_t count = word.sessions.size();
  const std::string who =
      count == 1 ? " (one machine says so)" : " (" + std::to_string(count) + " machines agree)";
  return word.reason.substr(0, limits::kReasonBytes - who.size()) + who;
}

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
  job.uid = NewUid(deps_.random);
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

void Jobs::AddItems(JobId id, ArrivingItems items, Reply<Added> reply) {
  Change<Added>(
      id,
      [id, items = std::move(items), standing = deps_.standing](Store&) -> Result<Added> {
        if (standing == nullptr) return Fail(Code::kInternal, "this server takes no items");
        TIDEMILL_TRY(const NewItems made, MakeItems(items));
        return standing->AddItems(id, made);
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
  Change<Job>(id, [id](Store& store) { return store.PauseJob(id, ""); }, std::move(reply));
}

void Jobs::PauseFor(JobId id, const TroubleWord& word, Reply<Paused> reply) {
  Change<Paused>(
      id,
      [id, word](Store& store) -> Result<Paused> {
        TIDEMILL_TRY(const Job job, store.FindJob(id));
        if (job.state != JobState::kActive) return Paused::kNotActive;
        TIDEMILL_TRY(const bool enough, IsEnough(store, job, word));
        if (!enough) return Paused::kNotEnough;
        TIDEMILL_TRY_VOID(store.PauseJob(id, ReasonOf(word)));
        return Paused::kYes;
      },
      std::move(reply));
}

void Jobs::EndTrial(JobId id, Reply<void> reply) {
  Change<void>(id, [id](Store& store) { return store.EndTrial(id); }, std::move(reply));
}

void Jobs::PauseTrial(JobId id, std::string reason, Reply<void> reply) {
  Change<void>(
      id, [id, reason = std::move(reason)](Store& store) { return store.PauseTrial(id, reason); },
      std::move(reply));
}

void Jobs::RaiseMemory(JobId id, std::int64_t bytes, Reply<void> reply) {
  Change<void>(
      id, [id, bytes](Store& store) { return store.RaiseMemory(id, bytes); }, std::move(reply));
}

void Jobs::PinImage(const Pin& pin, Reply<std::string> reply) {
  Change<std::string>(
      pin.job,
      [pin](Store& store) -> Result<std::string> {
        TIDEMILL_TRY_VOID(store.CheckPass(pin.pass, pin.token_life, pin.job));
        return store.PinImage(pin.job, pin.digest);
      },
      std::move(reply));
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

void Jobs::RetryGroup(JobId id, FailureKey group, Reply<Reopened> reply) {
  Change<Reopened>(
      id,
      [id, group = std::move(group)](Store& store) -> Result<Reopened> {
        ReopenWhich which;
        TIDEMILL_TRY(which.failed_of, FindFailed(store, id, group));
        if (!which.failed_of.empty()) return store.ReopenJob(id, which);
        TIDEMILL_TRY(const Job job, store.FindJob(id));
        return Reopened{.items = 0, .round = job.round};
      },
      std::move(reply));
}

void Jobs::List(JobFilter filter, Reply<std::vector<Job>> reply) {
  Ask<std::vector<Job>>([filter](Store& store) { return store.ListJobs(filter); },
                        std::move(reply));
}

void Jobs::ListCounts(JobFilter filter, Reply<JobCountsPage> reply) {
  OnStore(
      deps_, [filter](Store& store) { return store.ListJobs(filter); },
      [this, limit = filter.limit, reply = std::move(reply)](Result<std::vector<Job>> jobs) {
        if (!jobs) return reply(tl::unexpected(jobs.error()));
        CountMissing(*std::move(jobs), limit, reply);
      });
}

void Jobs::CountMissing(std::vector<Job> jobs, int limit, Reply<JobCountsPage> reply) {
  const TimePoint now = deps_.loop.Now();
  ForgetShown(now);
  JobCountsPage page;
  page.more = static_cast<int>(jobs.size()) == limit;
  std::vector<JobId> missing;
  for (Job& job : jobs) {
    const auto found = shown_.find(job.id);
    if (found != shown_.end() && found->second.counts.job == job) {
      page.jobs.push_back(found->second.counts);
    } else {
      missing.push_back(job.id);
      page.jobs.push_back({std::move(job), {}});
    }
  }
  if (missing.empty()) return reply(std::move(page));
  OnStore(
      deps_, [missing](Store& store) { return store.CountJobs(missing); },
      [this, now, page = std::move(page),
       reply = std::move(reply)](Result<std::vector<JobCounts>> counted) mutable {
        if (!counted) return reply(tl::unexpected(counted.error()));
        std::map<JobId, JobCounts> found;
        for (JobCounts& one : *counted) {
          Remember(one, now);
          const JobId id = one.job.id;
          found.emplace(id, std::move(one));
        }
        // A draft that was dropped just now stays as it was listed, with nothing in it.
        for (JobCounts& one : page.jobs) {
          if (const auto it = found.find(one.job.id); it != found.end()) one = it->second;
        }
        reply(std::move(page));
      });
}

void Jobs::ForgetShown(TimePoint now) {
  std::erase_if(shown_, [now](const auto& entry) {
    return !IsOver(entry.second.counts.job) && now - entry.second.at > kShownLife;
  });
}

// Of those that are over the oldest job makes room: they are never out of date, but are kept only
// as long as there is room.
void Jobs::Remember(const JobCounts& counts, TimePoint now) {
  if (shown_.size() >= kShownJobs && !shown_.contains(counts.job.id)) {
    const auto over = std::find_if(shown_.begin(), shown_.end(), [](const auto& entry) {
      return IsOver(entry.second.counts.job);
    });
    if (over == shown_.end()) return;
    shown_.erase(over);
  }
  shown_[counts.job.id] = {counts, now};
}

void Jobs::Show(JobId id, Reply<JobCounts> reply) {
  const TimePoint now = deps_.loop.Now();
  ForgetShown(now);
  const auto found = shown_.find(id);
  // By its number alone nobody can tell whether one that is over was reopened.
  if (found != shown_.end() && now - found->second.at <= kShownLife) {
    reply(found->second.counts);
    return;
  }
  OnStore(
      deps_, [id](Store& store) { return store.CountItems(id); },
      [this, now, reply = std::move(reply)](Result<JobCounts> counts) {
        if (counts) Remember(*counts, now);
        reply(std::move(counts));
      });
}

void Jobs::Items(ItemsRequest request, Reply<ItemPage> reply) {
  Ask<ItemPage>([request](Store& store) { return ListItems(store, request); }, std::move(reply));
}

void Jobs::Stats(JobId id, Reply<JobStats> reply) {
  Ask<JobStats>([id](Store& store) { return AddUpStats(store, id); }, std::move(reply));
}

void Jobs::ChunkBody(ChunkKey key, Reply<ChunkItems> reply) {
  Ask<ChunkItems>([key](Store& store) { return store.FindItems(key); }, std::move(reply));
}

void Jobs::Machines(MachineFilter filter, Reply<std::vector<ListedMachine>> reply) {
  Ask<std::vector<ListedMachine>>(
      [filter = std::move(filter)](Store& store) { return store.ListMachines(filter); },
      std::move(reply));
}

}  // namespace tidemill
