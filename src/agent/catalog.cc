// SPDX-License-Identifier: Apache-2.0
#include "agent/catalog.h"

#include <algorithm>
#include <utility>

#include "model/image.h"
#include "model/places.h"
#include "submit/cut.h"
#include "wire/blob_json.h"
#include "wire/item_field.h"
#include "wire/loop_item.h"
#include "wire/spec_json.h"

namespace tidemill {
namespace {

// Between two questions for the keys of a role: servers ask a cloud no more often, and keys last
// for minutes after the first question.
constexpr std::chrono::seconds kRoleRest{30};

// Hands the result to all who wait; they may ask for more meanwhile.
template <typename Fetched>
void Tell(Fetched& fetched, const Result<void>& result) {
  const auto waiting = std::exchange(fetched.waiting, {});
  for (const auto& call : waiting) call(result);
}

Result<Catalog::Entry> EntryOf(const Job& job) {
  TIDEMILL_TRY(ParsedSpec spec, ParseSpec(job.spec.document));
  Catalog::Entry entry;
  entry.id = PublicId(job);
  entry.project = job.project;
  entry.unique_id = UniqueId(job);
  entry.objects = job.objects;
  if (!job.objects.empty()) {
    entry.logs = JobPlace(job.objects, job) + "logs/";
    entry.saves = JobPlace(job.objects, job) + "checkpoints/";
  }
  if (spec.run.checkpoint_every.count() > 0 && entry.saves.empty()) {
    return Fail(Code::kInvalid, "its checkpoints can be kept nowhere: its server has no --objects");
  }
  entry.items = job.items;
  TIDEMILL_TRY(entry.plan, CommandPlan::Of(spec.run));
  TIDEMILL_TRY(entry.data, DataPlan::Of(spec.run));
  entry.container = {.job = job.id,
                     .image = spec.run.image,
                     .limits = spec.job.resources,
                     .shm_bytes = spec.run.shm_bytes};
  entry.memory_max = spec.job.memory_max;
  if (IsImageDigest(job.image_digest)) {
    TIDEMILL_TRY(const ImageName name, ParseImageName(spec.run.image));
    entry.container.image = PinnedImage(name, job.image_digest);
  }
  entry.container.loop = spec.run.mode == Mode::kLoop;
  if (entry.container.loop) {
    TIDEMILL_TRY(entry.program, entry.plan->ForLoop(entry.id, entry.items));
  }
  entry.container.secret_files =
      std::any_of(spec.run.secrets.begin(), spec.run.secrets.end(),
                  [](const SecretUse& use) { return !use.file.empty(); });
  entry.run = std::move(spec.run);
  return entry;
}

// Its items begin in the folder, and cannot change it.
void UseCode(Catalog::Entry& entry, JobCode::Folder folder, bool mounts) {
  constexpr const char* kInside = "/.tidemill/code";
  if (mounts) entry.container.mounts.push_back({*folder, kInside, true});
  entry.container.work_folder = mounts ? kInside : *folder;
  entry.code = std::move(folder);
}

}  // namespace

void Catalog::Get(ChunkKey chunk, int length, std::function<void(Result<void>)> done) {
  GetJob(chunk.job, [this, chunk, length, done = std::move(done)](const Result<void>& job) {
    if (!job) return done(job);
    GetItems(chunk, length, done);
  });
}

void Catalog::GetJob(JobId job, Waiting done) {
  auto [found, fresh] = jobs_.try_emplace(job);
  if (found->second.value) return done({});
  found->second.waiting.push_back(std::move(done));
  if (fresh) FetchJob(job, 0);
}

void Catalog::GetItems(ChunkKey chunk, int length, Waiting done) {
  auto [found, fresh] = chunks_.try_emplace(chunk);
  if (found->second.value) return done({});
  found->second.waiting.push_back(std::move(done));
  if (fresh) FetchItems(chunk, length, 0);
}

bool Catalog::TryAgain(const Error& error, int failures, std::function<void()> again) {
  if (error.code == Code::kInvalid || error.code == Code::kNotFound) return false;
  const Duration delay =
      std::min(limits_.first_retry * (1 << std::min(failures, 10)), limits_.longest_retry);
  deps_.loop.After(delay, [alive = std::weak_ptr<char>(alive_), again = std::move(again)] {
    if (!alive.expired()) again();
  });
  return true;
}

void Catalog::FetchJob(JobId job, int failures) {
  deps_.link.FetchJob(
      pass_, job, [this, job, failures, alive = std::weak_ptr<char>(alive_)](Result<Job> answer) {
        if (alive.expired() || !jobs_.contains(job)) return;
        if (!answer && TryAgain(answer.error(), failures,
                                [this, job, failures] { FetchJob(job, failures + 1); })) {
          return;
        }
        Result<Entry> entry = answer ? EntryOf(*answer) : tl::unexpected(answer.error());
        if (!entry) return Settle(job, std::move(entry));
        FetchRest(job, std::make_shared<Entry>(*std::move(entry)));
      });
}

// What the entry names and has not got yet.
void Catalog::FetchRest(JobId job, std::shared_ptr<Entry> entry) {
  const RunSpec& run = entry->run;
  if (!run.code.empty() && entry->code == nullptr) return FetchCode(job, std::move(entry), 0);
  const bool has_secrets = !run.secrets.empty() || !run.image_login.empty();
  if (has_secrets && entry->secrets == nullptr) return FetchSecrets(job, std::move(entry), 0);
  if (!run.role.empty()) return FetchRole(job, std::move(entry), 0);
  Settle(job, std::move(*entry));
}

void Catalog::FetchCode(JobId job, std::shared_ptr<Entry> entry, int failures) {
  const std::string sha256(BlobNameOf(entry->run.code));
  if (deps_.code == nullptr || entry->objects.empty()) {
    return Settle(job,
                  Fail(Code::kInvalid, "this machine cannot fetch code: its server keeps none"));
  }
  const std::string url = BlobPlace(entry->objects, entry->project, sha256);
  deps_.code->Get(url, sha256,
                  [this, job, entry, failures,
                   alive = std::weak_ptr<char>(alive_)](Result<JobCode::Folder> folder) {
                    if (alive.expired() || !jobs_.contains(job)) return;
                    if (!folder && TryAgain(folder.error(), failures, [this, job, entry, failures] {
                          FetchCode(job, entry, failures + 1);
                        })) {
                      return;
                    }
                    if (!folder) return Settle(job, While("its code", folder.error()));
                    UseCode(*entry, *std::move(folder), deps_.engine.mounts());
                    FetchRest(job, entry);
                  });
}

void Catalog::FetchSecrets(JobId job, std::shared_ptr<Entry> entry, int failures) {
  const auto take = [this, job, entry, failures](Result<Secrets> answer) {
    if (!answer && TryAgain(answer.error(), failures, [this, job, entry, failures] {
          FetchSecrets(job, entry, failures + 1);
        })) {
      return;
    }
    if (!answer) return Settle(job, tl::unexpected(answer.error()));
    auto secrets = JobSecrets::Of(entry->run, *std::move(answer));
    if (!secrets) return Settle(job, tl::unexpected(secrets.error()));
    entry->secrets = *std::move(secrets);
    FetchRest(job, entry);
  };
  deps_.link.FetchSecrets(pass_, job,
                          [this, job, take, alive = std::weak_ptr<char>(alive_)](auto answer) {
                            if (!alive.expired() && jobs_.contains(job)) take(std::move(answer));
                          });
}

void Catalog::AddRole(Entry& entry, RoleKeys keys) const {
  entry.role_due = deps_.loop.Now() + std::max<Duration>(keys.ask_again, kRoleRest);
  entry.secrets = JobSecrets::WithRole(entry.secrets.get(), std::move(keys));
}

void Catalog::FetchRole(JobId job, std::shared_ptr<Entry> entry, int failures) {
  deps_.link.FetchRole(
      pass_, job,
      [this, job, entry, failures, alive = std::weak_ptr<char>(alive_)](Result<RoleKeys> keys) {
        if (alive.expired() || !jobs_.contains(job)) return;
        if (!keys && TryAgain(keys.error(), failures, [this, job, entry, failures] {
              FetchRole(job, entry, failures + 1);
            })) {
          return;
        }
        if (!keys) return Settle(job, tl::unexpected(keys.error()));
        AddRole(*entry, *std::move(keys));
        Settle(job, std::move(*entry));
      });
}

void Catalog::RenewRoles(const std::function<void(JobId)>& renewed) {
  const TimePoint now = deps_.loop.Now();
  for (auto& [id, job] : jobs_) {
    if (!job.value || job.value->run.role.empty() || now < job.value->role_due) continue;
    job.value->role_due = now + kRoleRest;
    deps_.link.FetchRole(
        pass_, id,
        [this, id = id, renewed, alive = std::weak_ptr<char>(alive_)](Result<RoleKeys> keys) {
          const auto found = alive.expired() ? jobs_.end() : jobs_.find(id);
          if (alive.expired() || found == jobs_.end() || !found->second.value) return;
          if (!keys) {
            deps_.log.Warn("role.not_renewed",
                           {{"job", id.number}, {"reason", keys.error().reason}});
            return;
          }
          AddRole(*found->second.value, *std::move(keys));
          renewed(id);
        });
  }
}

void Catalog::Settle(JobId job, Result<Entry> entry) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  if (entry) {
    found->second.value = *std::move(entry);
    return Tell(found->second, {});
  }
  // The next lease asks again.
  auto fetched = std::move(found->second);
  jobs_.erase(found);
  Tell(fetched, Fail(Code::kInvalid, entry.error().reason));
}

void Catalog::FetchItems(ChunkKey chunk, int length, int failures) {
  deps_.link.FetchItems(
      pass_, chunk,
      [this, chunk, length, failures,
       alive = std::weak_ptr<char>(alive_)](Result<std::string> body) {
        const auto found = alive.expired() ? chunks_.end() : chunks_.find(chunk);
        if (alive.expired() || found == chunks_.end()) return;
        if (!body && TryAgain(body.error(), failures, [this, chunk, length, failures] {
              FetchItems(chunk, length, failures + 1);
            })) {
          return;
        }
        Result<std::vector<std::string>> texts = std::vector<std::string>();
        if (!body) {
          texts = tl::unexpected(body.error());
        } else if (!body->empty()) {
          texts = UnpackItems(*body, length);
        }
        if (texts) {
          found->second.value = Items{*std::move(texts)};
          return Tell(found->second, {});
        }
        auto fetched = std::move(found->second);
        chunks_.erase(found);
        Tell(fetched, Fail(Code::kInvalid, texts.error().reason));
      });
}

void Catalog::KeepOnly(const std::vector<ChunkKey>& chunks) {
  const std::set<ChunkKey> needed(chunks.begin(), chunks.end());
  std::set<JobId> jobs;
  for (const ChunkKey& chunk : needed) jobs.insert(chunk.job);
  std::erase_if(chunks_, [&](const auto& entry) {
    return entry.second.value && !needed.contains(entry.first);
  });
  std::erase_if(
      jobs_, [&](const auto& entry) { return entry.second.value && !jobs.contains(entry.first); });
}

const Resources* Catalog::EachOf(JobId job) const {
  const auto found = jobs_.find(job);
  const bool is_here = found != jobs_.end() && found->second.value;
  return is_here ? &found->second.value->container.limits : nullptr;
}

bool Catalog::Has(ChunkKey chunk) const {
  const auto found = chunks_.find(chunk);
  return EachOf(chunk.job) != nullptr && found != chunks_.end() && found->second.value;
}

ItemRun Catalog::MakeProgram(JobId job) const {
  const Entry& entry = JobOf(job);
  ItemRun run;
  run.entrypoint = entry.program->entrypoint;
  run.command = entry.program->command;
  run.env = entry.program->env;
  run.grace = entry.run.grace;
  if (entry.secrets != nullptr) entry.secrets->AddTo(run);
  return run;
}

std::string_view Catalog::TextOf(const Attempt& attempt) const {
  const Items& items = *chunks_.at(attempt.chunk).value;
  const auto offset = static_cast<std::size_t>(attempt.key.offset);
  return items.texts.empty() ? std::string_view() : items.texts.at(offset);
}

ItemFacts Catalog::FactsOf(const Attempt& attempt) const {
  const Entry& entry = JobOf(attempt.chunk.job);
  ItemFacts facts;
  facts.text = TextOf(attempt);
  facts.index = attempt.item;
  facts.count = entry.items;
  facts.job = entry.id;
  facts.attempt = attempt.number;
  return facts;
}

Result<DataWork> Catalog::DataOf(const Attempt& attempt) const {
  TIDEMILL_TRY(DataWork work, JobOf(attempt.chunk.job).data->For(FactsOf(attempt), ItemField));
  work.checkpoint = CheckpointOf(attempt);
  return work;
}

std::optional<CheckpointWork> Catalog::CheckpointOf(const Attempt& attempt) const {
  const Entry& entry = JobOf(attempt.chunk.job);
  if (entry.run.checkpoint_every.count() == 0 || attempt.data == 0) return std::nullopt;
  return CheckpointWork{.url = entry.saves + std::to_string(attempt.item) + "/",
                        .round = attempt.round,
                        .attempt = attempt.number,
                        .writer = ToString(attempt.key.lease) + "." + std::to_string(attempt.data)};
}

Result<void> Catalog::AddPaths(const Attempt& attempt, ItemFacts& facts) const {
  if (attempt.data == 0) return {};
  TIDEMILL_TRY(const DataWork work, DataOf(attempt));
  const DataFolders folders = deps_.engine.mounts()
                                  ? DataFolders{std::string(kInInside), std::string(kOutInside),
                                                std::string(kCheckpointsInside)}
                                  : deps_.data->FoldersOf(attempt.chunk.job);
  for (const DataInput& input : work.inputs) {
    facts.inputs[input.name] = PathOf(folders, attempt.place(), input);
  }
  if (work.checkpoint) {
    facts.checkpoint = folders.checkpoints + "/" + std::to_string(attempt.data);
  }
  for (const DataOutput& output : work.outputs) {
    facts.outputs[output.name] = PathOf(folders, attempt.place(), output);
  }
  return {};
}

Result<ItemRun> Catalog::Make(const Attempt& attempt) const {
  const Entry& entry = JobOf(attempt.chunk.job);
  ItemFacts facts = FactsOf(attempt);
  TIDEMILL_TRY_VOID(AddPaths(attempt, facts));
  ItemRun run;
  run.timeout = entry.run.timeout;
  run.grace = entry.run.grace;
  if (entry.program) {
    run.item = LoopItemText({.item = facts.index,
                             .text = facts.text.empty() ? std::to_string(facts.index) : facts.text,
                             .job = entry.id,
                             .attempt = facts.attempt,
                             .inputs = facts.inputs,
                             .outputs = facts.outputs});
    run.alone = attempt.alone;
    return run;
  }
  Result<ItemCommand> command = entry.plan->For(facts, ItemField);
  if (!command) return tl::unexpected(std::move(command).error());
  run.entrypoint = std::move(command->entrypoint);
  run.command = std::move(command->command);
  run.env = std::move(command->env);
  if (entry.secrets != nullptr) entry.secrets->AddTo(run);
  return run;
}

}  // namespace tidemill
