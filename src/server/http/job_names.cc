// SPDX-License-Identifier: Apache-2.0
#include "server/http/job_names.h"

#include <limits>
#include <utility>
#include <vector>

namespace tidemill {
namespace {

// Enough for the jobs that are worked with on one day; names are at most 64 bytes.
constexpr std::size_t kKeptNames = 10'000;

Result<JobId> Fitting(const ParsedJobId& asked, const std::string& name) {
  if (asked.name.empty() || asked.name == name) return asked.id;
  const std::string number = std::to_string(asked.id.number);
  return Fail(Code::kNotFound, "there is no job " + asked.name + "-" + number + "; number " +
                                   number + " is " + name + "-" + number);
}

tl::unexpected<Error> NoJob(const ParsedJobId& asked) {
  const std::string number = std::to_string(asked.id.number);
  return Fail(Code::kNotFound,
              "there is no job " + (asked.name.empty() ? number : asked.name + "-" + number));
}

}  // namespace

void JobNames::Resolve(const std::string& project, const std::string& text, Gate& gate,
                       const std::shared_ptr<HttpPeer>& peer, Reply<JobId> reply) {
  const auto asked = ParsePublicId(text);
  if (!asked || asked->id.number == std::numeric_limits<std::int64_t>::max()) {
    reply(Fail(Code::kNotFound, "there is no such job; a job is called like 'render-7', or '7'"));
    return;
  }
  if (const auto known = known_.find(asked->id); known != known_.end()) {
    const bool here = known->second.project == project;
    reply(here ? Fitting(*asked, known->second.name) : Result<JobId>(NoJob(*asked)));
    return;
  }
  // The newest below the next number is the one, if it is there at all.
  const JobFilter filter{
      .project = project, .state = {}, .before = JobId{asked->id.number + 1}, .limit = 1};
  gate.Pass<std::vector<Job>>(
      peer, [this, filter](Reply<std::vector<Job>> done) { jobs_.List(filter, std::move(done)); },
      [this, asked = *asked, reply = std::move(reply)](Result<std::vector<Job>> found) {
        if (!found) {
          reply(tl::unexpected(found.error()));
        } else if (found->empty() || found->front().id != asked.id) {
          reply(NoJob(asked));
        } else {
          Learn(found->front());
          reply(Fitting(asked, found->front().spec.name));
        }
      });
}

void JobNames::Learn(const Job& job) {
  if (known_.size() >= kKeptNames) known_.clear();
  known_.emplace(job.id, Known{job.spec.name, job.project});
}

}  // namespace tidemill
