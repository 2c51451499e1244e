// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/fields.h"
#include "sim/plan.h"

// What a plan is made of, once, for all that go through it: reading, writing, shrinking. The
// assertions at the end find a field that is missing here.
namespace tidemill {

template <>
inline constexpr std::tuple kFields<StoreFaults>{
    Field{"unavailable", &StoreFaults::unavailable},
    Field{"unknown", &StoreFaults::unknown},
    Field{"stale", &StoreFaults::stale},
};

template <>
inline constexpr std::tuple kFields<NetworkFaults>{
    Field{"lost_request", &NetworkFaults::lost_request},
    Field{"lost_reply", &NetworkFaults::lost_reply},
    Field{"twice", &NetworkFaults::twice},
    Field{"cut_off", &NetworkFaults::cut_off},
};

template <>
inline constexpr std::tuple kFields<MachineFaults>{
    Field{"lost_container", &MachineFaults::lost_container},
    Field{"engine_away", &MachineFaults::engine_away},
    Field{"trouble", &MachineFaults::trouble},
    Field{"crash", &MachineFaults::crash},
    Field{"pause", &MachineFaults::pause},
    Field{"disk_full", &MachineFaults::disk_full},
    Field{"unsynced", &MachineFaults::unsynced},
};

template <>
inline constexpr std::tuple kFields<CloudFaults>{
    Field{"error", &CloudFaults::error},
    Field{"unknown", &CloudFaults::unknown},
    Field{"no_capacity", &CloudFaults::no_capacity},
    Field{"never_up", &CloudFaults::never_up},
    Field{"interrupted", &CloudFaults::interrupted},
    Field{"notice", &CloudFaults::notice},
    Field{"outage", &CloudFaults::outage},
    Field{"forgotten", &CloudFaults::forgotten},
    Field{"quota", &CloudFaults::quota},
    Field{"listing_late", &CloudFaults::listing_late},
};

template <>
inline constexpr std::tuple kFields<ObjectFaults>{
    Field{"unavailable", &ObjectFaults::unavailable},
    Field{"unknown", &ObjectFaults::unknown},
};

template <>
inline constexpr std::tuple kFields<Faults>{
    Field{"store", &Faults::store},
    Field{"network", &Faults::network},
    Field{"machine", &Faults::machine},
    Field{"cloud", &Faults::cloud},
    Field{"objects", &Faults::objects},
    Field{"server_crash", &Faults::server_crash},
    Field{"leader_pause", &Faults::leader_pause},
    Field{"person", &Faults::person},
};

template <>
inline constexpr std::tuple kFields<PlannedJob>{
    Field{"parts", &PlannedJob::parts},
    Field{"retries", &PlannedJob::retries},
    Field{"memory_bytes", &PlannedJob::memory_bytes},
    Field{"memory_max", &PlannedJob::memory_max},
    Field{"begins", &PlannedJob::begins},
    Field{"item_ms", &PlannedJob::item_ms},
    Field{"poison_ppm", &PlannedJob::poison_ppm},
    Field{"priority", &PlannedJob::priority},
    Field{"max_parallel", &PlannedJob::max_parallel},
    Field{"budget", &PlannedJob::budget},
    Field{"stores", &PlannedJob::stores},
};

template <>
inline constexpr std::tuple kFields<PlannedPool>{
    Field{"max", &PlannedPool::max},
    Field{"min", &PlannedPool::min},
    Field{"millicpus", &PlannedPool::millicpus},
    Field{"spot", &PlannedPool::spot},
    Field{"price", &PlannedPool::price},
    Field{"idle", &PlannedPool::idle},
    Field{"boot", &PlannedPool::boot},
};

template <>
inline constexpr std::tuple kFields<Resources>{
    Field{"millicpus", &Resources::millicpus},
    Field{"memory_bytes", &Resources::memory_bytes},
};

template <>
inline constexpr std::tuple kFields<Script>{
    Field{"join_token", &Script::join_token},
    Field{"shape", &Script::shape},
    Field{"item_ms", &Script::item_ms},
    Field{"lease_time", &Script::lease_time},
    Field{"heartbeat", &Script::heartbeat},
    Field{"session_life", &Script::session_life},
    Field{"fetches_items", &Script::fetches_items},
    Field{"failing_ppm", &Script::failing_ppm},
    Field{"seed", &Script::seed},
    Field{"repeats", &Script::repeats},
    Field{"lies", &Script::lies},
    Field{"splits", &Script::splits},
    Field{"leaves", &Script::leaves},
    Field{"gives_back", &Script::gives_back},
    Field{"comes_late", &Script::comes_late},
    Field{"vanishes", &Script::vanishes},
};

template <>
inline constexpr std::tuple kFields<ServerLimits>{
    Field{"session_life", &ServerLimits::session_life},
    Field{"session_token_life", &ServerLimits::session_token_life},
    Field{"heartbeat", &ServerLimits::heartbeat},
    Field{"gather", &ServerLimits::gather},
    Field{"idle_gather", &ServerLimits::idle_gather},
    Field{"batches_in_flight", &ServerLimits::batches_in_flight},
    Field{"pending_syncs", &ServerLimits::pending_syncs},
    Field{"pending_bytes", &ServerLimits::pending_bytes},
    Field{"batch_bytes", &ServerLimits::batch_bytes},
    Field{"longest_wait", &ServerLimits::longest_wait},
    Field{"poll_every", &ServerLimits::poll_every},
    Field{"refresh_every", &ServerLimits::refresh_every},
    Field{"reap_every", &ServerLimits::reap_every},
    Field{"blame_every", &ServerLimits::blame_every},
    Field{"sweep_every", &ServerLimits::sweep_every},
    Field{"roll_up_every", &ServerLimits::roll_up_every},
    Field{"tidy_every", &ServerLimits::tidy_every},
    Field{"pack_every", &ServerLimits::pack_every},
    Field{"pack_age", &ServerLimits::pack_age},
    Field{"pack_failed_age", &ServerLimits::pack_failed_age},
    Field{"plan_every", &ServerLimits::plan_every},
    Field{"leader_silence", &ServerLimits::leader_silence},
    Field{"list_limit", &ServerLimits::list_limit},
    Field{"insist_after", &ServerLimits::insist_after},
    Field{"audit_age", &ServerLimits::audit_age},
};

template <>
inline constexpr std::tuple kFields<SimPlan>{
    Field{"why", &SimPlan::why},           Field{"seed", &SimPlan::seed},
    Field{"servers", &SimPlan::servers},   Field{"agents", &SimPlan::agents},
    Field{"machines", &SimPlan::machines}, Field{"chaos", &SimPlan::chaos},
    Field{"pools", &SimPlan::pools},       Field{"jobs", &SimPlan::jobs},
    Field{"script", &SimPlan::script},     Field{"limits", &SimPlan::limits},
    Field{"faults", &SimPlan::faults},     Field{"agent_tick", &SimPlan::agent_tick},
};

template <typename... Structs>
inline constexpr bool kAllListed = ((kListed<Structs> == CountFields<Structs>()) && ...);
static_assert(kAllListed<StoreFaults, NetworkFaults, MachineFaults>);
static_assert(kAllListed<CloudFaults, ObjectFaults, Faults>);
static_assert(kAllListed<PlannedJob, PlannedPool, SimPlan>);
static_assert(kAllListed<Script, ServerLimits>);
// Devices are missing: no plan has machines with any.
static_assert(kListed<Resources> + 1 == CountFields<Resources>());

}  // namespace tidemill
