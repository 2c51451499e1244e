// SPDX-License-Identifier: Apache-2.0
#include "agent/stream_carrier.h"

#include <algorithm>
#include <string>
#include <utility>

#include "frame/stream.h"

namespace tidemill {

StreamCarrier::StreamCarrier(Loop& loop, Slots& slots, std::unique_ptr<ByteStream> person,
                             std::function<void()> over)
    : loop_(loop), slots_(slots), person_(std::move(person)), over_(std::move(over)) {}

StreamCarrier::~StreamCarrier() { loop_.Cancel(life_); }

void StreamCarrier::Begin(const ItemKey& key, StreamStart start) {
  person_->Start({.on_bytes = [this](std::string_view bytes) { Read(bytes); },
                  .on_sent = [this] { OnSent(); },
                  .on_end = [this](const std::string&) { Drop(); }});
  life_ = loop_.After(kLife, [this] { Drop(); });
  number_ = slots_.OpenStream(key, std::move(start), weak_from_this());
  if (number_ == 0) OnEnd({.with_item = true});
}

void StreamCarrier::Read(std::string_view bytes) {
  reader_.Feed(bytes);
  while (const auto frame = reader_.Next()) {
    if (!Take(*frame)) return Drop();
  }
  if (reader_.broken()) Drop();
}

bool StreamCarrier::Take(const frame::Frame& frame) {
  Container* const container = slots_.StreamContainer(number_);
  if (frame.kind == frame::Kind::kGive) {
    if (container != nullptr) container->SendToStream(number_, frame.payload);
    return true;
  }
  const auto size = frame::DecodeResize(frame.payload);
  if (size && container != nullptr) container->ResizeStream(number_, size->rows, size->columns);
  return size.has_value();
}

void StreamCarrier::OnSent() {
  if (holds_ && person_->unsent() < kGoOnBelow) Hold(false);
}

void StreamCarrier::OnBytes(bool is_error, std::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), frame::kStreamBytes))) {
    const std::string_view part = bytes.substr(0, frame::kStreamBytes);
    person_->Send(is_error ? frame::EncodeErrors(0, part) : frame::EncodeOutput(0, part));
  }
  if (person_->unsent() > kUnsentMost) return Drop();
  if (!holds_ && person_->unsent() > kHoldAbove) Hold(true);
}

void StreamCarrier::Hold(bool hold) {
  holds_ = hold;
  if (Container* const container = slots_.StreamContainer(number_)) {
    container->HoldStream(number_, hold);
  }
}

void StreamCarrier::OnFull(bool full) { person_->Hold(full); }

void StreamCarrier::OnEnd(const StreamEnd& end) {
  person_->Send(frame::EncodeOver(0, {end.exit, end.error, end.with_item}));
  person_->Finish();
  TellOver();
}

void StreamCarrier::Drop() {
  slots_.CloseStream(number_);
  person_->Close();
  TellOver();
}

// What is called is not destroyed with the carrier.
void StreamCarrier::TellOver() {
  const auto over = std::move(over_);
  over();
}

}  // namespace tidemill
