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

// As a server's HTTP face answers it.
void VirtualLink::Join(JoinRequest request, Done<Joined> done) {
  Call<Joined>(
      [request, life = session_life_](Server& server, Done<Joined> answer) {
        server.Join(request, [answer, life](Result<Session> session) {
          if (!session) {
            answer(tl::unexpected(session.error()));
          } else if (session->state == SessionState::kDead) {
            answer(Fail(Code::kLost, "this session has ended"));
          } else {
            answer(Joined{session->id, session->state, life / 6, life});
          }
        });
      },
      std::move(done));
}

void VirtualLink::Sync(SyncRequest request, Done<SyncResult> done) {
  Call<SyncResult>(
      [request](Server& server, Done<SyncResult> answer) { server.Sync(request, answer); },
      std::move(done));
}

void VirtualLink::Wait(SessionId session, Done<bool> done) {
  Call<bool>(
      [session](Server& server, Done<bool> answer) { server.Wait(session, seconds(25), answer); },
      std::move(done));
}

void VirtualLink::FetchItems(ChunkKey key, Done<std::string> done) {
  Call<std::string>(
      [key](Server& server, Done<std::string> answer) {
        server.jobs().ChunkBody(key, [answer](Result<ChunkItems> items) {
          if (items) {
            answer(items->body);
          } else {
            answer(tl::unexpected(items.error()));
          }
        });
      },
      std::move(done));
}

void VirtualLink::FetchJob(JobId job, Done<Job> done) {
  Call<Job>(
      [job](Server& server, Done<Job> answer) {
        server.jobs().Show(job, [answer](Result<JobCounts> counted) {
          if (counted) {
            answer(counted->job);
          } else {
            answer(tl::unexpected(counted.error()));
          }
        });
      },
      std::move(done));
}

}  // namespace tidemill
