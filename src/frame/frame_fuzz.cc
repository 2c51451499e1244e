// SPDX-License-Identifier: Apache-2.0
// What decodes encodes to the same bytes; how a stream is cut changes nothing; limits hold.
// sources: frame/frame.cc frame/json.cc frame/run.cc frame/stream.cc frame/text.cc
#include <cstdlib>

#include "frame/frame.h"
#include "frame/stream.h"
#include "frame/text.h"

namespace tidemill::frame {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

std::optional<std::string> OpenAgain(const Frame& frame) {
  const auto open = DecodeOpen(frame.payload);
  if (!open) return std::nullopt;
  Require(open->size.rows > 0 && open->size.columns > 0);
  Require((open->port == 0) != open->program.argv.empty());
  for (const auto* strings : {&open->program.argv, &open->program.env}) {
    for (const std::string_view text : *strings) Require(text.data()[text.size()] == '\0');
  }
  return EncodeOpen(frame.number, *open);
}

std::optional<std::string> StreamAgain(const Frame& frame) {
  switch (frame.kind) {
    case Kind::kOpen:
      return OpenAgain(frame);
    case Kind::kGive:
      return EncodeGive(frame.number, frame.payload);
    case Kind::kOutput:
      return EncodeOutput(frame.number, frame.payload);
    case Kind::kErrors:
      return EncodeErrors(frame.number, frame.payload);
    case Kind::kResize: {
      const auto size = DecodeResize(frame.payload);
      if (!size) return std::nullopt;
      return EncodeResize(frame.number, *size);
    }
    case Kind::kHold:
    case Kind::kFull: {
      const auto flag = DecodeFlag(frame.payload);
      if (!flag) return std::nullopt;
      return frame.kind == Kind::kHold ? EncodeHold(frame.number, *flag)
                                       : EncodeFull(frame.number, *flag);
    }
    case Kind::kClose:
      return EncodeClose(frame.number);
    case Kind::kOver: {
      const auto over = DecodeOver(frame.payload);
      if (!over) return std::nullopt;
      return EncodeOver(frame.number, *over);
    }
    default:
      std::abort();
  }
}

// The frame, made anew from what its payload was read as. Nothing: its payload says nothing.
std::optional<std::string> Again(const Frame& frame) {
  switch (frame.kind) {
    case Kind::kRun:
    case Kind::kProgram: {
      const auto run = DecodeRun(frame.payload);
      if (!run) return std::nullopt;
      for (const auto* strings : {&run->argv, &run->env}) {
        for (const std::string_view text : *strings) Require(text.data()[text.size()] == '\0');
      }
      for (const SecretFile& file : run->secret_files) {
        Require(IsSecretFileName(file.name) && file.name.data()[file.name.size()] == '\0');
        Require(file.content.size() <= kSecretFileBytes);
      }
      Require(run->secret_files.size() <= kSecretFilesMost);
      Require(run->tag.size() <= kTagBytes);
      return frame.kind == Kind::kRun ? EncodeRun(frame.number, *run) : EncodeProgram(*run);
    }
    case Kind::kItem: {
      const auto item = DecodeItem(frame.payload);
      if (!item) return std::nullopt;
      Require(item->tag.size() <= kTagBytes && !item->json.empty());
      return EncodeItem(frame.number, *item);
    }
    case Kind::kNoMore:
      return EncodeNoMore();
    case Kind::kProgress: {
      const auto progress = DecodeProgress(frame.payload);
      if (!progress) return std::nullopt;
      Require(IsLine(progress->note) && progress->note.size() <= kNoteBytes);
      return EncodeProgress(frame.number, *progress);
    }
    case Kind::kStop:
      return EncodeStop(frame.number);
    case Kind::kHello: {
      const auto hello = DecodeHello(frame.payload);
      if (!hello || hello->version != kVersion) return std::nullopt;
      Require(hello->runs <= kRunsMost);
      return EncodeHello(hello->runs);
    }
    case Kind::kHave:
      return EncodeHave(frame.number, frame.payload);
    case Kind::kHeard:
      return EncodeHeard(frame.number);
    case Kind::kRole:
      return EncodeRole(frame.payload);
    case Kind::kQuit:
      return EncodeQuit();
    case Kind::kLog:
      return EncodeLog(frame.number, frame.payload);
    case Kind::kEnd: {
      const auto end = DecodeEnd(frame.payload);
      if (!end) return std::nullopt;
      return EncodeEnd(frame.number, *end);
    }
    default:
      return StreamAgain(frame);
  }
}

// All frames as one text. `piece` is how many bytes are fed at a time.
std::string ReadAll(Reader::Side side, std::string_view bytes, std::size_t piece) {
  const std::size_t most = side == Reader::Side::kInit ? kPayloadToInit : kPayloadToAgent;
  Reader reader(side);
  std::string seen;
  std::size_t taken = 0;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    reader.Feed(bytes.substr(at, piece));
    while (const auto frame = reader.Next()) {
      Require(frame->payload.size() <= most);
      const std::string_view original = bytes.substr(taken, kHeaderBytes + frame->payload.size());
      taken += original.size();
      if (const auto again = Again(*frame)) Require(*again == original);
      seen.append(original);
    }
    reader.Forget();
  }
  if (reader.broken()) {
    reader.Feed(EncodeStop(1));
    Require(!reader.Next() && reader.broken());
    seen += "broken";
  }
  return seen;
}

template <typename Decode>
void DecodeAlone(Kind kind, std::string_view payload, Decode decode) {
  const auto value = decode(payload);
  if (!value) return;
  const auto again = Again({.kind = kind, .number = 0, .payload = payload});
  if (again) Require(std::string_view(*again).substr(kHeaderBytes) == payload);
}

void FuzzOne(std::string_view input) {
  if (input.empty()) return;
  const std::string_view bytes = input.substr(1);
  const std::size_t piece = static_cast<unsigned char>(input[0]) % 64 + 1;
  for (const auto side :
       {Reader::Side::kInit, Reader::Side::kAgent, Reader::Side::kCarrier, Reader::Side::kPerson}) {
    Require(ReadAll(side, bytes, piece) == ReadAll(side, bytes, bytes.size() + 1));
  }
  DecodeAlone(Kind::kRun, bytes, DecodeRun);
  DecodeAlone(Kind::kEnd, bytes, DecodeEnd);
  DecodeAlone(Kind::kHello, bytes, DecodeHello);
  DecodeAlone(Kind::kItem, bytes, DecodeItem);
  DecodeAlone(Kind::kProgress, bytes, DecodeProgress);
  DecodeAlone(Kind::kOpen, bytes, DecodeOpen);
  DecodeAlone(Kind::kResize, bytes, DecodeResize);
  DecodeAlone(Kind::kHold, bytes, DecodeFlag);
  DecodeAlone(Kind::kOver, bytes, DecodeOver);
}

}  // namespace
}  // namespace tidemill::frame

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tidemill::frame::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
