// SPDX-License-Identifier: Apache-2.0
#include "engine/channel/greeting.h"

#include <sys/socket.h>

#include <cerrno>

namespace tidemill {
namespace {

std::size_t LengthIn(std::string_view header) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    length |= std::size_t{static_cast<unsigned char>(header[4 + i])} << (8 * i);
  }
  return length;
}

}  // namespace

Greeting::State Greeting::Read() {
  while (!broken_ && (!greeted_once_ || left_ > 0)) {
    if (!ReadPiece()) break;
  }
  if (broken_) return State::kBroken;
  return greeted_once_ && left_ == 0 ? State::kWhole : State::kMore;
}

bool Greeting::ReadPiece() {
  // The reader refuses a length that no frame has before we wait for so much.
  char bytes[512];
  const std::size_t most = std::min(sizeof(bytes), want_ - piece_.size());
  const ssize_t size = recv(socket_.get(), bytes, most, MSG_DONTWAIT);
  if (size < 0) {
    broken_ = errno != EAGAIN && errno != EINTR;
    return false;
  }
  if (size == 0) {
    broken_ = true;
    return false;
  }
  piece_.append(bytes, static_cast<std::size_t>(size));
  if (piece_.size() < want_) return true;
  reader_.Feed(piece_);
  const std::size_t length = in_payload_ ? 0 : LengthIn(piece_);
  piece_.clear();
  const auto frame = reader_.Next();
  if (reader_.broken() || (frame && !Take(*frame))) {
    broken_ = true;
    return false;
  }
  in_payload_ = !frame.has_value();
  want_ = in_payload_ ? length : frame::kHeaderBytes;
  return true;
}

bool Greeting::Take(const frame::Frame& frame) {
  if (!greeted_once_) {
    const auto hello = frame::DecodeHello(frame.payload);
    if (frame.kind != frame::Kind::kHello || !hello) return false;
    if (hello->version < frame::kOldestVersion || hello->version > frame::kVersion) return false;
    greeted_once_ = true;
    greeted_.version = hello->version;
    left_ = hello->runs;
    return true;
  }
  if (frame.kind != frame::Kind::kHave || !numbers_.insert(frame.number).second) return false;
  greeted_.runs.push_back({frame.number, std::string(frame.payload)});
  --left_;
  return true;
}

}  // namespace tidemill
