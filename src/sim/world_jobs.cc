// SPDX-License-Identifier: Apache-2.0
// What people do in a run: they submit jobs, and meddle with them.
#include <algorithm>

#include "sim/world.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

std::string DocumentOf(const PlannedJob& job) {
  std::string document = "{";
  if (job.memory_bytes > 0) {
    document += R"("resources":{"memory":{"start":)" + std::to_string(job.memory_bytes) +
                R"(,"max":)" + std::to_string(job.memory_max) + "}}";
  }
  if (job.stores) {
    if (document.size() > 1) document += ",";
    document += R"("output":"s3://bucket/{index}")";
  }
  return document + "}";
}

}  // namespace

NewJob World::JobOf(const PlannedJob& planned, std::size_t number) const {
  NewJob job;
  job.project = kDefaultProject;
  job.key = "job-" + std::to_string(number);
  job.spec.name = "sim";
  job.spec.retries = planned.retries;
  job.spec.document = DocumentOf(planned);
  job.spec.wishes.priority = planned.priority;
  if (planned.max_parallel > 0) job.spec.wishes.max_parallel = planned.max_parallel;
  if (planned.budget > Money{}) job.spec.wishes.budget = planned.budget;
  if (planned.memory_bytes > 0) {
    job.spec.resources.memory_bytes = planned.memory_bytes;
    job.spec.memory_max = planned.memory_max;
  }
  return job;
}

// As a client does it: each call again until it is answered, with the same key and part numbers.
void World::Submit(const PlannedJob& planned, std::size_t number) {
  Insist([this, &planned, number] {
    const Result<Job> created = faulty_.CreateJob(JobOf(planned, number));
    if (!created) return false;
    items_.Know(created->id, planned);
    planned_[created->id] = number;
    for (std::size_t i = 0; i < planned.parts.size(); ++i) {
      const NewPart part{.number = static_cast<std::int32_t>(i),
                         .digest = "part",
                         .chunks = {{planned.parts[i], {}}}};
      if (!faulty_.AddPart(created->id, part)) return false;
    }
    if (!faulty_.SealJob(created->id, static_cast<std::int32_t>(planned.parts.size())))
      return false;
    jobs_.push_back(created->id);
    ++submitted_;
    return true;
  });
}

void World::Meddle() {
  const JobId job = jobs_[person_random_.Below(jobs_.size())];
  switch (person_random_.Below(5)) {
    case 0:
      (void)faulty_.PauseJob(job, "");
      break;
    case 1:
    case 2:
      (void)faulty_.ResumeJob(job);
      break;
    case 3:
      (void)faulty_.ReopenJob(job, {});
      break;
    default:
      if (person_random_.Chance(0.3)) (void)faulty_.CancelJob(job);
  }
}

// As a person would: an agent's last word about a job that it could not run may come late.
void World::ResumePaused() {
  for (const JobId job : jobs_) {
    const Result<Job> found = store_.FindJob(job);
    if (found && found->state == JobState::kPaused) (void)store_.ResumeJob(job);
  }
}

// A job whose budget is used up waits for ever.
void World::CancelPoor() {
  for (const JobId job : jobs_) {
    const Result<Job> found = store_.FindJob(job);
    if (found && found->spec.wishes.budget) (void)store_.CancelJob(job);
  }
}

bool World::AllOver() {
  if (submitted_ < plan_.jobs.size()) return false;
  return std::all_of(jobs_.begin(), jobs_.end(), [this](JobId id) {
    const Result<Job> job = store_.FindJob(id);
    return job && (job->state == JobState::kFinished || job->state == JobState::kCancelled);
  });
}

}  // namespace tidemill
