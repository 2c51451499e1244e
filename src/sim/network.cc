// SPDX-License-Identifier: Apache-2.0
#include "sim/network.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

// Longer than any wait, so that a held one is not taken for a lost one.
constexpr Duration kPatience = seconds(35);

}  // namespace

Duration Network::SomeTime() {
  return Duration(static_cast<std::int64_t>(dice_.random().Below(20'000)));
}

void VirtualLink::EverySecond() {
  if (cut_seconds_ > 0) {
    --cut_seconds_;
  } else if (network_.dice_.Happens(network_.faults_.cut_off)) {
    cut_seconds_ = 1 + static_cast<int>(network_.dice_.random().Below(180));
    const std::uint64_t which = network_.dice_.random().Below(3);
    cut_there_ = which != 0;
    cut_back_ = which != 1;
  }
}

template <typename T>
void VirtualLink::Call(Invoke<T> invoke, Done<T> done) {
  Loop& loop = network_.loop_;
  // Emptied by the first of answer and timeout.
  auto open = std::make_shared<Done<T>>(std::move(done));
  const auto answer = [open](Result<T> result) {
    if (*open) std::exchange(*open, nullptr)(std::move(result));
  };
  own_.After(kPatience, [answer] { answer(Fail(Code::kUnknown, "no answer")); });
  if (LosesRequest() || network_.dice_.Happens(network_.faults_.lost_request)) return;
  loop.After(network_.SomeTime(), [this, invoke, answer] {
    Server* server = network_.pick_();
    if (server == nullptr) {
      own_.After(network_.SomeTime(),
                 [answer] { answer(Fail(Code::kUnavailable, "no server is up")); });
      return;
    }
    invoke(*server, [this, answer](Result<T> result) {
      if (LosesReply() || network_.dice_.Happens(network_.faults_.lost_reply)) return;
      own_.After(network_.SomeTime(), [answer, result = std::move(result)] { answer(result); });
    });
  });
  if (!network_.dice_.Happens(network_.faults_.twice)) return;
  loop.After(network_.SomeTime() * 1000, [this, invoke] {
    if (Server* server = network_.pick_()) invoke(*server, [](Result<T>) {});
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

// Simulated jobs name none, and have no role.
void VirtualLink::FetchSecrets(const SessionPass&, JobId, Done<Secrets> done) {
  own_.After(network_.SomeTime(), [done] { done(Secrets{}); });
}

void VirtualLink::FetchRole(const SessionPass&, JobId, Done<RoleKeys> done) {
  own_.After(network_.SomeTime(), [done] { done(RoleKeys{}); });
}

// Simulated engines pull nothing.
void VirtualLink::PinImage(const SessionPass&, JobId, const std::string& digest,
                           Done<std::string> done) {
  own_.After(network_.SomeTime(), [done, digest] { done(digest); });
}

}  // namespace tidemill
