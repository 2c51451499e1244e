// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/loop.h"
#include "model/stream.h"
#include "net/http.h"
#include "net/http_server.h"
#include "server/http/stream_relay.h"

namespace tidemill {

// Who wants into an item.
struct StreamPerson {
  std::string name;
  // Says whether the person still may; where nobody can say, yes.
  std::function<void(std::function<void(bool)>)> may_stay;
};

// Where people who want into an item wait for its agent, until it comes or refuses, and where the
// two are joined. Loop thread only.
//
//   Wait ──Meet──▶ both become streams ──▶ joined ──one ends──▶ (forgotten)
//    └──Refuse, too late, gone──▶ (forgotten)
class StreamDesk {
 public:
  // An agent hears of it within a second and may have to try a few servers.
  static constexpr Duration kWait = std::chrono::seconds(20);
  // For two connections to be told that they are streams now.
  static constexpr Duration kJoinTime = std::chrono::seconds(10);
  // So soon one who may no more is out. A look is a read of one row: 100 a second if all are open.
  static constexpr Duration kLookTime = std::chrono::seconds(10);
  // Each takes two connections, and half a MiB at worst.
  static constexpr std::size_t kMost = 1000;

  // `waited` is told of each stream that nobody waits for any more: its agent need not be told.
  StreamDesk(Loop& loop, Log& log, std::function<void(StreamId)> waited,
             Duration look_time = kLookTime)
      : loop_(loop), log_(log), waited_(std::move(waited)), look_time_(look_time) {}
  ~StreamDesk();

  bool full() const { return waiting_.size() + joined_.size() >= kMost; }
  // Somebody waits for this stream: `respond` gets a 101, or why there is none.
  void Wait(const AskedStream& stream, StreamPerson person, const std::shared_ptr<HttpPeer>& peer,
            HttpRespond respond);
  // Its agent has come: `respond` gets a 101. False: nobody waits for it here, and it is not used.
  bool Meet(SessionId session, StreamId stream, const HttpRespond& respond);
  // Its agent does not let anybody in. False as above.
  bool Refuse(SessionId session, StreamId stream, const std::string& reason);
  // Ends all that is open, and the waits.
  void EndAll();

 private:
  struct Waiting {
    AskedStream stream;
    StreamPerson who;
    std::shared_ptr<HttpPeer> peer;
    HttpRespond respond;
    TimerId timer = TimerId::kNone;
  };
  struct Joined {
    AskedStream stream;
    StreamPerson who;
    TimePoint began;
    TimerId timer = TimerId::kNone;  // until both are there, and then until the next look
    std::unique_ptr<ByteStream> person;
    std::unique_ptr<ByteStream> agent;
    std::unique_ptr<StreamRelay> relay;
  };

  // The wait is over.
  std::optional<Waiting> Take(StreamId stream);
  void Answer(StreamId stream, HttpResponse response);
  // One of the two sides has become a stream.
  void Come(StreamId stream, std::unique_ptr<ByteStream> Joined::* side,
            std::unique_ptr<ByteStream> bytes);
  void LookLater(StreamId stream, Joined& joined);
  void Look(StreamId stream);
  void End(StreamId stream, const std::string& reason);

  Loop& loop_;
  Log& log_;
  const std::function<void(StreamId)> waited_;
  const Duration look_time_;
  std::map<StreamId, Waiting> waiting_;
  std::map<StreamId, Joined> joined_;
};

}  // namespace tidemill
