// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/random.h"
#include "cli/watch_bucket.h"
#include "cmd/command_list.h"
#include "wire/duration.h"

namespace tidemill::cli {

// Objects that arrive become items.
class BucketCommand {
 public:
  explicit BucketCommand(CommandList& list) {
    CLI::App* const command =
        list.Add(&list.app(), Scope::kProject, "watch-bucket",
                 "Make an item of each object that arrives in a bucket, until Ctrl-C.",
                 "watch-bucket 's3://scans/**/*.png' --job render.yaml --every 5m",
                 [this](const Context& context) {
                   SystemRandom random;
                   return WatchBucket(context, random, flags_);
                 });
    command
        ->add_option("URL", flags_.source.url, "A bucket, a prefix, or a pattern: 's3://scans/**'")
        ->required()
        ->option_text(" ");
    AddJob(command);
    AddSource(command);
    list.SetMissing([this] { return Missing(); });
  }
  BucketCommand(const BucketCommand&) = delete;
  BucketCommand& operator=(const BucketCommand&) = delete;

 private:
  void AddJob(CLI::App* command) {
    auto* const job = command->add_option("--job", flags_.job.spec,
                                          "The spec of the job, which stays open; or a kept spec");
    job->option_text("SPEC");
    command->add_option("--name", flags_.job.name, "What it is called; else as the spec says")
        ->option_text("NAME")
        ->needs(job);
    command->add_option("--into", flags_.job.into, "A job that is open, instead")
        ->option_text("JOB")
        ->excludes(job);
  }

  void AddSource(CLI::App* command) {
    auto* const queue = command->add_option("--queue", flags_.source.queue,
                                            "An SQS queue that is told of arrivals, for speed");
    queue->option_text("URL");
    auto* const subscription =
        command->add_option("--subscription", flags_.source.subscription,
                            "The same of Google's Pub/Sub: projects/P/subscriptions/S");
    subscription->option_text("NAME")->excludes(queue);
    command->add_option("--every", every_, "How often all is listed; 1m unless told")
        ->option_text("TIME");
    command->add_flag("--once", flags_.once, "List all once, and end")
        ->option_text(" ")
        ->excludes(queue)
        ->excludes(subscription);
  }

  std::string Missing() {
    if (flags_.job.spec.empty() && flags_.job.into.empty()) {
      return "which job?  --job SPEC makes one that stays open, --into JOB names one";
    }
    const auto every = ParseDuration(every_);
    if (!every || *every < std::chrono::seconds(1)) {
      return "--every is a time from 1s on, as 30s or 5m, not '" + every_ + "'";
    }
    flags_.every = *every;
    return "";
  }

  WatchBucketFlags flags_;
  std::string every_ = "1m";
};

}  // namespace tidemill::cli
