// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/limits.h"
#include "cli/simulate.h"
#include "cmd/command_list.h"
#include "cmd/wish_options.h"

namespace tidemill::cli {

// A job played before it is run.
class SimulateCommand {
 public:
  explicit SimulateCommand(CommandList& list) {
    CLI::App* const command =
        list.Add(&list.app(), Scope::kProject, "simulate",
                 "Say how long a job will take, and what it will cost, before it is run.",
                 "simulate render.yaml --items 250000 --duration 'lognormal(60s, 1)'"
                 " --pool name=spot,cpus=16,max=500,price=0.27,spot --interruptions 5%/h",
                 [this](const Context& context) {
                   return Simulate(context.console, context.around, &context.client, flags_);
                 });
    list.SetHere([this] { return AsksServer(flags_); },
                 [this](const Console& console, const Surroundings& around) {
                   return Simulate(console, around, nullptr, flags_);
                 });
    list.SetMissing([this] { return MissingOf(flags_); });
    AddJob(command);
    AddMachines(command);
    AddWishOptions(command, flags_.wishes);
  }
  SimulateCommand(const SimulateCommand&) = delete;
  SimulateCommand& operator=(const SimulateCommand&) = delete;

 private:
  void AddJob(CLI::App* command) {
    command->add_option("SPEC", flags_.spec, "A file, as for tidemill submit; - is standard input")
        ->option_text(" ");
    command->add_option("--like", flags_.like, "Items and lengths as this job's were measured")
        ->option_text("JOB");
    command->add_option("--items", flags_.items, "So many items")
        ->option_text("N")
        ->check(CLI::Range(std::int64_t{1}, limits::kItemsPerJob));
    command
        ->add_option("--duration", flags_.duration,
                     "What items take: 60s, uniform(10s, 2m), exponential(60s), normal(60s, 10s), "
                     "lognormal(60s, 1)")
        ->option_text("SPREAD");
    command->add_option("--failing", flags_.failing, "Percent of attempts that fail; else none")
        ->option_text("PERCENT")
        ->check(CLI::Range(0.0, 100.0));
    command->add_option("--seeds", flags_.seeds, "Play it so often, for a range; 3 unless told")
        ->option_text("N")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}));
    command->add_option("--seed", flags_.seed, "The first seed; 1 unless told")->option_text("N");
  }

  void AddMachines(CLI::App* command) {
    command
        ->add_option("--pool", flags_.pools,
                     "Where: a pool of the server, or one as in the example; may be repeated")
        ->option_text("POOL")
        ->allow_extra_args(false);
    command->add_option("--boot", flags_.boot, "How long machines take to boot; 60s unless told")
        ->option_text("TIME");
    auto* const rate = command->add_option("--interruptions", flags_.interruptions,
                                           "How many spot machines are taken away, as 5%/h");
    rate->option_text("RATE");
    command
        ->add_option("--spot-trace", flags_.spot_trace,
                     "The same, from a CSV file with the header seconds,machines")
        ->option_text("FILE")
        ->excludes(rate);
    command
        ->add_option("--notice", flags_.notice,
                     "How long before they are told: 2m, 30s or 0; 2m unless told")
        ->option_text("TIME");
  }

  SimulateFlags flags_;
};

}  // namespace tidemill::cli
