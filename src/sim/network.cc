// SPDX-License-Identifier: Apache-2.0
#include "sim/network.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

// Longer than any wait, so that a held one is not taken for a lost one.
constexpr Duration kPatience = seconds(35);

}  // namespace

Duration VirtualLink::SomeTime() {
  return Duration(static_cast<std::int64_t>(random_.Below(20'000)));
}

template <typename T>
void VirtualLink::Call(Invoke<T> invoke, Done<T> done) {
  // Emptied by the first of answer and timeout.
  auto open = std::make_shared<Done<T>>(std::move(done));
  const auto answer = [open](Result<T> result) {
    if (*open) std::exchange(*open, nullptr)(std::move(result));
  };
  loop_.After(kPatience, [answer] { answer(Fail(Code::kUnknown, "no answer")); });
  if (random_.Chance(faults_.lost_request)) return;
  loop_.After(SomeTime(), [this, invoke, answer] {
    Server* server = pick_();
    if (server == nullptr) {
      loop_.After(SomeTime(), [answer] { answer(Fail(Code::kUnavailable, "no server is up")); });
      return;
    }
    invoke(*server, [this, answer](Result<T> result) {
      if (random_.Chance(faults_.lost_reply)) return;
      loop_.After(SomeTime(), [answer, result = std::move(result)] { answer(result); });
    });
  });
  if (!random_.Chance(faults_.twice)) return;
  loop_.After(SomeTime() * 1000, [this, invoke] {
    if (Server* server = pick_()) invoke(*server, [](Result<T>) {});
  });
}

void VirtualLink::Join(JoinRequest request, Done<Joined> done) {
  Call<Joined>([request](Server& server, Done<Joined> answer) { server.Join(request, answer); },
               std::move(done));
}

void VirtualLink::Sync(SyncRequest request, Done<SyncResult> done) {
  Call<SyncResult>(
      [request](Server& server, Done<SyncResult> answer) { server.Sync(request, answer); },
      std::move(done));
}

void VirtualLink::Wait(const SessionPass& pass, Done<bool> done) {
  Call<bool>([pass](Server& server, Done<bool> answer) { server.Wait(pass, seconds(25), answer); },
             std::move(done));
}

void VirtualLink::FetchItems(const SessionPass& pass, ChunkKey key, Done<std::string> done) {
  Call<std::string>(
      [pass, key](Server& server, Done<std::string> answer) {
        server.FetchItems(pass, key, [answer](Result<ChunkItems> items) {
          if (items) {
            answer(items->body);
          } else {
            answer(tl::unexpected(items.error()));
          }
        });
      },
      std::move(done));
}

void VirtualLink::FetchJob(const SessionPass& pass, JobId job, Done<Job> done) {
  Call<Job>([pass, job](Server& server, Done<Job> answer) { server.FetchJob(pass, job, answer); },
            std::move(done));
}

// Simulated jobs name none.
void VirtualLink::FetchSecrets(const SessionPass&, JobId, Done<Secrets> done) {
  loop_.After(SomeTime(), [done] { done(Secrets{}); });
}

// Simulated engines pull nothing.
void VirtualLink::PinImage(const SessionPass&, JobId, const std::string& digest,
                           Done<std::string> done) {
  loop_.After(SomeTime(), [done, digest] { done(digest); });
}

}  // namespace tidemill
