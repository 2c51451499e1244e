// SPDX-License-Identifier: Apache-2.0
#include "init/agent_link.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "init/try_again.h"

namespace tidemill::init {
namespace {

constexpr std::size_t kReceiveBytes = 64 * 1024;
// Frames that were sent are cut off in pieces of this size, so that few bytes are moved often.
constexpr std::size_t kCutBytes = 64 * 1024;

// Of a frame that we made ourselves.
std::size_t FrameBytes(std::string_view frame) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    length |= std::size_t{static_cast<unsigned char>(frame[4 + i])} << (8 * i);
  }
  return frame::kHeaderBytes + length;
}

bool IsOfStream(frame::Kind kind) {
  return kind == frame::Kind::kOutput || kind == frame::Kind::kErrors ||
         kind == frame::Kind::kFull || kind == frame::Kind::kOver;
}

}  // namespace

void AgentLink::PutEnd(const Have& run, const frame::End& end) {
  unheard_.push_back({run, frame::EncodeEnd(run.number, end)});
  Put(unheard_.back().frame);
}

// They are heard in the order in which they were sent.
void AgentLink::Heard(std::uint64_t number) {
  const auto found = std::find_if(unheard_.begin(), unheard_.end(), [number](const Unheard& each) {
    return each.run.number == number;
  });
  if (found != unheard_.end()) unheard_.erase(found);
}

void AgentLink::DropSent() {
  std::size_t whole = 0;
  while (whole < sent_) {
    const std::size_t next = whole + FrameBytes(std::string_view(unsent_).substr(whole));
    if (next > sent_) break;
    whole = next;
  }
  unsent_.erase(0, whole);
  sent_ -= whole;
}

void AgentLink::DropStreams() {
  std::string kept;
  for (std::string_view rest = unsent_; !rest.empty(); rest.remove_prefix(FrameBytes(rest))) {
    if (!IsOfStream(static_cast<frame::Kind>(rest[0]))) kept += rest.substr(0, FrameBytes(rest));
  }
  unsent_.swap(kept);
}

bool AgentLink::Flush() {
  while (connected() && unsent_bytes() > 0) {
    const ssize_t size =
        send(socket_, unsent_.data() + sent_, unsent_bytes(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0) {
      if (!IsForLater(errno)) return false;
      break;
    }
    sent_ += static_cast<std::size_t>(size);
  }
  if (sent_ == unsent_.size()) {
    unsent_.clear();
    sent_ = 0;
  } else if (sent_ >= kCutBytes) {
    DropSent();
  }
  return true;
}

bool AgentLink::Receive() {
  char bytes[kReceiveBytes];
  const ssize_t size = recv(socket_, bytes, sizeof(bytes), MSG_DONTWAIT);
  if (size < 0) return IsForLater(errno);
  if (size == 0) return false;
  reader_->Feed({bytes, static_cast<std::size_t>(size)});
  explicit_bzero(bytes, static_cast<std::size_t>(size));
  return true;
}

bool AgentLink::Lose() {
  if (path_ == nullptr) return false;
  close(std::exchange(socket_, -1));
  // Half a frame is nothing to whoever had it; it goes whole to the next.
  DropSent();
  sent_ = 0;
  DropStreams();
  reader_.emplace(kSide);
  return true;
}

int AgentLink::Connect() const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path_, sizeof(address.sun_path) - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
}

std::string AgentLink::SentButUnheard() const {
  std::set<std::uint64_t> queued;
  for (std::string_view rest = unsent_; !rest.empty(); rest.remove_prefix(FrameBytes(rest))) {
    if (static_cast<frame::Kind>(rest[0]) != frame::Kind::kEnd) continue;
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      number |= std::uint64_t{static_cast<unsigned char>(rest[8 + i])} << (8 * i);
    }
    queued.insert(number);
  }
  std::string frames;
  for (const Unheard& each : unheard_) {
    if (!queued.contains(each.run.number)) frames += each.frame;
  }
  return frames;
}

bool AgentLink::Return(const std::vector<Have>& runs) {
  const int fd = Connect();
  if (fd < 0) return false;
  socket_ = fd;
  std::string first = frame::EncodeHello(static_cast<std::uint32_t>(runs.size() + unheard_.size()));
  for (const Unheard& each : unheard_) first += frame::EncodeHave(each.run.number, each.run.tag);
  for (const Have& run : runs) first += frame::EncodeHave(run.number, run.tag);
  // What was sent is older than what was not.
  unsent_ = first + SentButUnheard() + unsent_;
  return true;
}

}  // namespace tidemill::init
