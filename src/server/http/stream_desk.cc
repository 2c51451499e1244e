// SPDX-License-Identifier: Apache-2.0
#include "server/http/stream_desk.h"

#include <utility>

#include "server/http/answer.h"

namespace tidemill {

StreamDesk::~StreamDesk() {
  for (const auto& [id, waiting] : waiting_) {
    loop_.Cancel(waiting.timer);
    waiting.peer->on_gone = nullptr;
  }
  for (const auto& [id, joined] : joined_) loop_.Cancel(joined.timer);
}

void StreamDesk::Wait(const AskedStream& stream, StreamPerson person,
                      const std::shared_ptr<HttpPeer>& peer, HttpRespond respond) {
  if (peer->gone) return;
  const StreamId id = stream.id;
  Waiting& waiting = waiting_[id];
  waiting = {stream, std::move(person), peer, std::move(respond)};
  waiting.timer = loop_.After(kWait, [this, id] {
    Answer(id, ProblemAnswer(Error{Code::kUnavailable,
                                   "the machine that has the item does not answer; try again, or "
                                   "look at it with 'tidemill machines'"}));
  });
  peer->on_gone = [this, id] { Take(id); };
}

std::optional<StreamDesk::Waiting> StreamDesk::Take(StreamId stream) {
  const auto found = waiting_.find(stream);
  if (found == waiting_.end()) return std::nullopt;
  Waiting waiting = std::move(found->second);
  waiting_.erase(found);
  loop_.Cancel(waiting.timer);
  waited_(stream);
  return waiting;
}

void StreamDesk::Answer(StreamId stream, HttpResponse response) {
  const auto waiting = Take(stream);
  if (!waiting) return;
  waiting->peer->on_gone = nullptr;
  waiting->respond(std::move(response));
}

bool StreamDesk::Refuse(SessionId session, StreamId stream, const std::string& reason) {
  const auto found = waiting_.find(stream);
  if (found == waiting_.end() || found->second.stream.session != session) return false;
  Answer(stream, ProblemAnswer(Error{Code::kConflict, reason}));
  return true;
}

bool StreamDesk::Meet(SessionId session, StreamId stream, const HttpRespond& respond) {
  const auto found = waiting_.find(stream);
  if (found == waiting_.end() || found->second.stream.session != session) return false;
  const Waiting& waiting = found->second;
  Joined& joined = joined_[stream];
  joined.stream = waiting.stream;
  joined.who = waiting.who;
  joined.began = loop_.Now();
  joined.timer =
      loop_.After(kJoinTime, [this, stream] { End(stream, "one of the two did not come"); });
  const auto become = [this, stream](std::unique_ptr<ByteStream> Joined::* side) {
    HttpResponse response{.status = 101};
    response.on_stream = [this, stream, side](std::unique_ptr<ByteStream> bytes) {
      Come(stream, side, std::move(bytes));
    };
    return response;
  };
  respond(become(&Joined::agent));
  Answer(stream, become(&Joined::person));
  return true;
}

void StreamDesk::Come(StreamId stream, std::unique_ptr<ByteStream> Joined::* side,
                      std::unique_ptr<ByteStream> bytes) {
  const auto found = joined_.find(stream);
  if (found == joined_.end()) return;  // too late: it ends with this
  Joined& joined = found->second;
  joined.*side = std::move(bytes);
  if (!joined.person || !joined.agent) return;
  loop_.Cancel(joined.timer);
  log_.Info("stream.begun", {{"job", joined.stream.job.number},
                             {"item", joined.stream.item},
                             {"session", ToString(joined.stream.session)},
                             {"who", joined.who.name}});
  LookLater(stream, joined);
  joined.relay = std::make_unique<StreamRelay>(
      std::move(joined.person), std::move(joined.agent),
      [this, stream](const std::string& reason) { End(stream, reason); });
}

void StreamDesk::LookLater(StreamId stream, Joined& joined) {
  joined.timer = loop_.After(look_time_, [this, stream] { Look(stream); });
}

void StreamDesk::Look(StreamId stream) {
  const auto found = joined_.find(stream);
  if (found == joined_.end()) return;
  const auto may_stay = found->second.who.may_stay;
  may_stay([this, stream](bool may) {
    const auto still = joined_.find(stream);
    if (still == joined_.end()) return;
    if (!may) return End(stream, "its person may no more");
    LookLater(stream, still->second);
  });
}

void StreamDesk::End(StreamId stream, const std::string& reason) {
  const auto found = joined_.find(stream);
  if (found == joined_.end()) return;
  const Joined joined = std::move(found->second);
  joined_.erase(found);
  loop_.Cancel(joined.timer);
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(loop_.Now() - joined.began).count();
  log_.Info("stream.ended", {{"job", joined.stream.job.number},
                             {"item", joined.stream.item},
                             {"who", joined.who.name},
                             {"seconds", seconds},
                             {"reason", reason}});
}

void StreamDesk::EndAll() {
  while (!waiting_.empty()) {
    Answer(waiting_.begin()->first,
           ProblemAnswer(Error{Code::kUnavailable, "this server is stopping; try another one"}));
  }
  while (!joined_.empty()) End(joined_.begin()->first, "this server is stopping");
}

}  // namespace tidemill
