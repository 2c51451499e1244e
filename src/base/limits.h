// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

// Every size that must not grow without end, with its reason. Crossing one is an answer, never
// growth.
namespace tidemill::limits {

// Seven bit strings of 256 bytes keep a chunk's row below the 2 kB at which PostgreSQL moves
// columns out.
inline constexpr int kItemsPerChunk = 2048;
// An agent fetches the items of a chunk whole; long items make smaller chunks, so that a fetch
// stays cheap when many agents share a chunk.
inline constexpr std::size_t kChunkTextBytes = 256 * 1024;
// An item is a name, a key or a small JSON object; data belongs in an object store.
inline constexpr std::size_t kItemBytes = 64 * 1024;
// What a server holds in memory for one upload, several times over while it cuts and packs.
inline constexpr std::size_t kPartBytes = 8 * 1024 * 1024;
inline constexpr std::int64_t kItemsPerJob = 100'000'000;
// One part may be a bare range; this many items are 4,883 rows, made in one transaction of 0.2 s.
inline constexpr std::int64_t kItemsPerRangePart = 10'000'000;
inline constexpr std::size_t kSpecBytes = 64 * 1024;
inline constexpr std::size_t kNameBytes = 64;
inline constexpr std::size_t kKeyBytes = 128;
inline constexpr std::size_t kUrlBytes = 2048;
inline constexpr std::size_t kMachineNameBytes = 128;
inline constexpr int kMaxRetries = 100;
// Kinds of devices that an item asks for or a machine has.
inline constexpr std::size_t kDeviceKinds = 16;

// One transaction of the exchange: beyond 256 syncs the gain is gone and the wait of the first
// grows.
inline constexpr std::size_t kSyncsPerBatch = 256;
// More would hold the loop in JSON and base64 for too long; agents send the rest with the next
// sync.
inline constexpr std::size_t kSyncBytes = 4 * 1024 * 1024;
inline constexpr std::size_t kSettlementsPerSync = 256;
inline constexpr std::size_t kLeasesPerSession = 64;
// Jobs in what an agent says of its machine: each has a lease, but those that were just returned.
inline constexpr std::size_t kJobsPerStatus = kLeasesPerSession;
// Jobs that an agent finds it cannot run, in one sync; the rest comes with the next one.
inline constexpr std::size_t kTroublesPerSync = 16;
// A sentence for people: why a job is paused, which engine runs the containers.
inline constexpr std::size_t kReasonBytes = 500;
// Items of one job that a machine says how far they are; people look at a few. The agent chooses.
inline constexpr std::size_t kProgressPerJob = 8;
inline constexpr std::size_t kNoteBytes = 100;
// Jobs that are tried in turn for one sync: with more, a search for nothing would cost too much.
inline constexpr std::size_t kAsksPerSync = 4;
// 2,048 outcomes of some 40 bytes, before compression, with room for long machine names.
inline constexpr std::size_t kReportBytes = 512 * 1024;

// An item that was on a machine when it was lost, this many times, is recorded as failed.
inline constexpr int kMaxLost = 5;
// Items lost once are leased in groups no larger: a poison item then takes few others with it.
inline constexpr int kLostOnceGroup = 16;

// Rows of one answer of a list; more come with the next page.
inline constexpr int kPageRows = 1000;
// A key, a password, a service account's file; all secrets of a job and its command fit into the
// one frame that starts an item.
inline constexpr std::size_t kSecretBytes = 32 * 1024;
inline constexpr std::size_t kSecretsPerJob = 16;
// What a person is to read of whose a token is.
inline constexpr std::size_t kTokenNameBytes = 100;
// So that a list of their names is one answer.
inline constexpr int kSecretsPerProject = 1000;
// A session's token is worth an hour; a sync turns it over when half of that has passed.
inline constexpr std::chrono::hours kSessionTokenLife{1};

// Sessions reaped in one transaction: bounds how long their rows stay locked.
inline constexpr int kReapSessions = 20;
// Leases revoked in one step of a cancel.
inline constexpr int kRevokeLeases = 100;
// Chunks rolled up in one transaction: some 10 ms, for which their rows are locked.
inline constexpr int kRollUpChunks = 8;
// An upload that nobody has touched for a day will not be finished; a session that has been dead
// for a day is of no interest to anybody.
inline constexpr std::chrono::hours kStaleAge{24};

}  // namespace tidemill::limits
