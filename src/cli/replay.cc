// SPDX-License-Identifier: Apache-2.0
#include "cli/replay.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "cli/format.h"
#include "cli/here_plan.h"
#include "cli/items.h"
#include "cli/send_code.h"
#include "cli/stores.h"
#include "wire/blob_json.h"
#include "wire/job_json.h"
#include "wire/size.h"
#include "wire/spec_json.h"

namespace tidemill::cli {
namespace {

class Replayer {
 public:
  Replayer(const Context& context, Random& random, const ReplayFlags& flags)
      : context_(context), random_(random), flags_(flags) {}

  int Run() {
    for (const auto step :
         {&Replayer::FetchJob, &Replayer::FetchItem, &Replayer::SetMemory, &Replayer::FindCode}) {
      if (const auto wrong = (this->*step)()) return *wrong;
    }
    return RunHere(context_.client.loop(), context_.console, context_.around, flags_.here,
                   std::move(work_));
  }

 private:
  using Step = std::optional<int>;

  Step Wrong(const std::string& why, int exit = kWrongUse) const {
    context_.console.ErrLine(why);
    return exit;
  }
  Step Broken(const Error& error) const {
    return Explain(context_.console, context_.client, error, flags_.job);
  }

  Step FetchJob();
  Step FetchItem();
  Step SetMemory();
  Step FindCode();
  Result<std::string> CodeHere();

  const Context& context_;
  Random& random_;
  const ReplayFlags& flags_;
  ParsedSpec spec_;
  HereWork work_;
};

Replayer::Step Replayer::FetchJob() {
  const auto body = context_.client.Get(JobTarget(flags_.job));
  if (!body) return Broken(body.error());
  auto job = ParseJob(*body);
  if (!job) return Broken(job.error());
  auto spec = ParseSpec(job->spec.document);
  if (!spec) return Wrong(spec.error().reason);
  spec_ = *std::move(spec);
  work_.item.job = *std::move(job);
  const bool is_pinned =
      !work_.item.job.image_digest.empty() || spec_.run.image.find('@') != spec_.run.image.npos;
  if (!spec_.run.image.empty() && !is_pinned && !context_.console.quiet && !context_.console.json) {
    context_.console.ErrLine("No machine has told which image its tag stood for; here it is what " +
                             spec_.run.image + " is now.");
  }
  return std::nullopt;
}

Replayer::Step Replayer::FetchItem() {
  const std::string id = PublicId(work_.item.job);
  auto found = FindItem(context_.client, id, flags_.item);
  if (!found) return Broken(found.error());
  if (!*found) {
    return Wrong(id + " has no item " + Thousands(flags_.item) + "; it has " +
                     CountOf(work_.item.job.items, "item") + ", from number 0 on",
                 kNoSuchThing);
  }
  OneItem& item = work_.item;
  item.item = flags_.item;
  item.text = std::move((*found)->text);
  work_.fleet = std::move((*found)->outcome);
  item.round = work_.fleet ? work_.fleet->round : item.job.round;
  item.attempt = work_.fleet ? std::max(work_.fleet->attempt, 1) : 1;
  return std::nullopt;
}

Replayer::Step Replayer::SetMemory() {
  OneItem& item = work_.item;
  if (!flags_.memory.empty()) {
    const auto bytes = ParseSize(flags_.memory);
    if (!bytes || *bytes <= 0) return Wrong("--memory: not a size such as 4GiB");
    item.memory_bytes = *bytes;
    return std::nullopt;
  }
  item.memory_bytes = MemoryOf(spec_.job.resources.memory_bytes, spec_.job.memory_max,
                               work_.fleet ? work_.fleet->memory_bytes : 0);
  return std::nullopt;
}

Result<std::string> Replayer::CodeHere() {
  std::optional<Stores> stores;
  const auto make = [&]() -> Stores& {
    if (!stores) {
      stores.emplace(context_.client.loop(), random_, context_.around.world());
    }
    return *stores;
  };
  return PackCode(context_.console, make, flags_.code, "");
}

Replayer::Step Replayer::FindCode() {
  const std::string sha256(BlobNameOf(spec_.run.code));
  if (sha256.empty()) return std::nullopt;
  auto code =
      flags_.code.empty() ? context_.client.Get("/v1/blobs/" + sha256 + "/content") : CodeHere();
  if (!code && flags_.code.empty()) {
    return Explain(context_.console, context_.client, While("its code", code.error()).value());
  }
  if (!code) return Wrong(code.error().reason);
  if (Hex(Sha256(*code)) != sha256) {
    return Wrong(flags_.code + " is not the code that " + flags_.job + " ran with");
  }
  work_.code = *std::move(code);
  return std::nullopt;
}

}  // namespace

int Replay(const Context& context, Random& random, const ReplayFlags& flags) {
  return Replayer(context, random, flags).Run();
}

}  // namespace tidemill::cli
