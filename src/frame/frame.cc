// SPDX-License-Identifier: Apache-2.0
#include "frame/frame.h"

#include <string.h>

#include <algorithm>

namespace tidemill::frame {
namespace {

// What a later version may add to Hello.
constexpr std::size_t kHelloBytes = 4;
constexpr std::size_t kHelloBytesMost = 256;
constexpr std::size_t kRunBytesLeast = 8 + 8 + 4 + 4 + 1;
constexpr std::size_t kEndBytes = 4 * 4 + 4 * 8;

constexpr std::uint32_t kTimedOut = 1;
constexpr std::uint32_t kStopped = 2;
constexpr std::uint32_t kSkipped = 4;
constexpr std::uint32_t kNoSecrets = 8;
constexpr std::uint32_t kAllFlags = kTimedOut | kStopped | kSkipped | kNoSecrets;

template <typename T>
void Put(std::string& out, T value) {
  const auto bits = static_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out.push_back(static_cast<char>(static_cast<unsigned char>(bits >> (8 * i))));
  }
}

// Takes a number from the front of `bytes`, which must hold it.
template <typename T>
T Take(std::string_view& bytes) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bits |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  bytes.remove_prefix(sizeof(T));
  return static_cast<T>(bits);
}

std::string Header(Kind kind, std::uint64_t number, std::size_t payload_bytes) {
  std::string out;
  out.reserve(kHeaderBytes + payload_bytes);
  Put(out, static_cast<std::uint32_t>(kind));  // and the three zeros
  Put(out, static_cast<std::uint32_t>(payload_bytes));
  Put(out, number);
  return out;
}

struct Lengths {
  std::size_t least;
  std::size_t most;
};

// How long a payload of this kind may be on its way to this side; nothing if it may not come there.
std::optional<Lengths> LengthsOf(Reader::Side side, Kind kind) {
  const bool to_init = side == Reader::Side::kInit;
  switch (kind) {
    case Kind::kRun:
      if (to_init) return Lengths{kRunBytesLeast, kPayloadToInit};
      break;
    case Kind::kStop:
      if (to_init) return Lengths{0, 0};
      break;
    case Kind::kHello:
      if (!to_init) return Lengths{kHelloBytes, kHelloBytesMost};
      break;
    case Kind::kLog:
      if (!to_init) return Lengths{0, kPayloadToAgent};
      break;
    case Kind::kEnd:
      if (!to_init) return Lengths{kEndBytes, kEndBytes};
      break;
  }
  return std::nullopt;
}

bool HasNul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

// Takes `count` strings, each with its NUL. False if there are not so many.
bool TakeStrings(std::string_view& bytes, std::uint32_t count,
                 std::vector<std::string_view>& strings) {
  if (count > bytes.size()) return false;  // each needs a byte, so a lie reserves no memory
  strings.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t end = bytes.find('\0');
    if (end == std::string_view::npos) return false;
    strings.push_back(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
  return true;
}

// By their names, which so cannot be there twice.
bool AreSecretFiles(const std::vector<SecretFile>& files) {
  if (files.size() > kSecretFilesMost) return false;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!IsSecretFileName(files[i].name)) return false;
    if (files[i].content.size() > kSecretFileBytes) return false;
    if (i > 0 && files[i - 1].name >= files[i].name) return false;
  }
  return true;
}

std::size_t SizeOf(const std::vector<SecretFile>& files) {
  std::size_t bytes = files.empty() ? 0 : 4;
  for (const SecretFile& file : files) bytes += file.name.size() + 1 + 4 + file.content.size();
  return bytes;
}

// Takes all that is left. False if that is no secret files.
bool TakeSecretFiles(std::string_view& bytes, std::vector<SecretFile>& files) {
  if (bytes.size() < 4) return false;
  const auto count = Take<std::uint32_t>(bytes);
  if (count == 0 || count > kSecretFilesMost) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t end = bytes.find('\0');
    if (end == std::string_view::npos) return false;
    SecretFile file{.name = bytes.substr(0, end), .content = {}};
    bytes.remove_prefix(end + 1);
    if (bytes.size() < 4) return false;
    const auto size = Take<std::uint32_t>(bytes);
    if (size > bytes.size()) return false;
    file.content = bytes.substr(0, size);
    bytes.remove_prefix(size);
    files.push_back(file);
  }
  return bytes.empty() && AreSecretFiles(files);
}

bool Between(std::int32_t value, std::int32_t least, std::int32_t most) {
  return value >= least && value <= most;
}

}  // namespace

void Reader::MakeRoom(std::size_t bytes) {
  const std::size_t rest = buffer_.size() - begin_;
  if (rest + bytes > buffer_.capacity()) {
    std::string larger;
    larger.reserve(std::max(rest + bytes, 2 * buffer_.capacity()));
    larger.append(buffer_, begin_);
    explicit_bzero(buffer_.data(), buffer_.size());
    buffer_.swap(larger);
  } else {
    memmove(buffer_.data(), buffer_.data() + begin_, rest);
    explicit_bzero(buffer_.data() + rest, buffer_.size() - rest);
    buffer_.resize(rest);
  }
  begin_ = 0;
}

void Reader::Feed(std::string_view bytes) {
  if (broken_) return;
  MakeRoom(bytes.size());
  buffer_.append(bytes);
}

void Reader::Forget() { explicit_bzero(buffer_.data(), begin_); }

std::optional<Frame> Reader::Next() {
  std::string_view bytes = std::string_view(buffer_).substr(begin_);
  if (broken_ || bytes.size() < kHeaderBytes) return std::nullopt;
  const auto kind_and_zeros = Take<std::uint32_t>(bytes);
  const auto length = Take<std::uint32_t>(bytes);
  const auto number = Take<std::uint64_t>(bytes);
  const auto kind = static_cast<Kind>(kind_and_zeros & 0xff);
  const auto lengths = LengthsOf(side_, kind);
  const bool good = kind_and_zeros <= 0xff && lengths && length >= lengths->least &&
                    length <= lengths->most && (kind != Kind::kHello || number == 0);
  if (!good) {
    broken_ = true;
    explicit_bzero(buffer_.data(), buffer_.size());
    std::string().swap(buffer_);  // an assignment would keep the memory
    begin_ = 0;
    return std::nullopt;
  }
  if (bytes.size() < length) return std::nullopt;
  begin_ += kHeaderBytes + length;
  return Frame{kind, number, bytes.substr(0, length)};
}

bool IsSecretFileName(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto is_rest = [&](char c) { return is_plain(c) || c == '.' || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= kSecretNameBytes && is_plain(name.front()) &&
         std::all_of(name.begin(), name.end(), is_rest);
}

std::optional<std::string> EncodeRun(std::uint64_t number, const Run& run) {
  if (run.argv.empty() || run.timeout_us < 0 || run.grace_us < 0) return std::nullopt;
  if (!AreSecretFiles(run.secret_files)) return std::nullopt;
  std::size_t bytes = kRunBytesLeast - 1 + SizeOf(run.secret_files);
  for (const auto* strings : {&run.argv, &run.env}) {
    for (const std::string_view text : *strings) {
      bytes += text.size() + 1;
      if (bytes > kPayloadToInit || HasNul(text)) return std::nullopt;
    }
  }
  std::string out = Header(Kind::kRun, number, bytes);
  Put(out, run.timeout_us);
  Put(out, run.grace_us);
  Put(out, static_cast<std::uint32_t>(run.argv.size()));
  Put(out, static_cast<std::uint32_t>(run.env.size()));
  for (const auto* strings : {&run.argv, &run.env}) {
    for (const std::string_view text : *strings) out.append(text).push_back('\0');
  }
  if (run.secret_files.empty()) return out;
  Put(out, static_cast<std::uint32_t>(run.secret_files.size()));
  for (const SecretFile& file : run.secret_files) {
    out.append(file.name).push_back('\0');
    Put(out, static_cast<std::uint32_t>(file.content.size()));
    out.append(file.content);
  }
  return out;
}

std::optional<Run> DecodeRun(std::string_view payload) {
  if (payload.size() < kRunBytesLeast || payload.size() > kPayloadToInit) return std::nullopt;
  Run run;
  run.timeout_us = Take<std::int64_t>(payload);
  run.grace_us = Take<std::int64_t>(payload);
  const auto arguments = Take<std::uint32_t>(payload);
  const auto variables = Take<std::uint32_t>(payload);
  if (run.timeout_us < 0 || run.grace_us < 0 || arguments == 0) return std::nullopt;
  if (!TakeStrings(payload, arguments, run.argv)) return std::nullopt;
  if (!TakeStrings(payload, variables, run.env)) return std::nullopt;
  if (!payload.empty() && !TakeSecretFiles(payload, run.secret_files)) return std::nullopt;
  return run;
}

std::string EncodeStop(std::uint64_t number) { return Header(Kind::kStop, number, 0); }

std::string EncodeHello() {
  std::string out = Header(Kind::kHello, 0, kHelloBytes);
  Put(out, kVersion);
  return out;
}

std::optional<std::uint32_t> DecodeHello(std::string_view payload) {
  if (payload.size() < kHelloBytes || payload.size() > kHelloBytesMost) return std::nullopt;
  const auto version = Take<std::uint32_t>(payload);
  if (version == 0) return std::nullopt;
  if (version == kVersion && !payload.empty()) return std::nullopt;
  return version;
}

std::string EncodeLog(std::uint64_t number, std::string_view bytes) {
  bytes = bytes.substr(0, kPayloadToAgent);
  std::string out = Header(Kind::kLog, number, bytes.size());
  out.append(bytes);
  return out;
}

std::string EncodeEnd(std::uint64_t number, const End& end) {
  std::string out = Header(Kind::kEnd, number, kEndBytes);
  Put(out, end.exit);
  Put(out, end.signal);
  Put(out, end.error);
  Put(out, (end.timed_out ? kTimedOut : 0U) | (end.stopped ? kStopped : 0U) |
               (end.skipped ? kSkipped : 0U) | (end.no_secrets ? kNoSecrets : 0U));
  Put(out, end.start_ms);
  Put(out, end.duration_us);
  Put(out, end.cpu_us);
  Put(out, end.memory_bytes);
  return out;
}

std::optional<End> DecodeEnd(std::string_view payload) {
  if (payload.size() != kEndBytes) return std::nullopt;
  End end;
  end.exit = Take<std::int32_t>(payload);
  end.signal = Take<std::int32_t>(payload);
  end.error = Take<std::int32_t>(payload);
  const auto flags = Take<std::uint32_t>(payload);
  end.timed_out = (flags & kTimedOut) != 0;
  end.stopped = (flags & kStopped) != 0;
  end.skipped = (flags & kSkipped) != 0;
  end.no_secrets = (flags & kNoSecrets) != 0;
  end.start_ms = Take<std::int64_t>(payload);
  end.duration_us = Take<std::int64_t>(payload);
  end.cpu_us = Take<std::int64_t>(payload);
  end.memory_bytes = Take<std::int64_t>(payload);
  if ((flags & ~kAllFlags) != 0) return std::nullopt;
  if (!Between(end.exit, 0, kExitMost) || !Between(end.signal, 0, kSignalMost) ||
      !Between(end.error, 0, kErrorMost)) {
    return std::nullopt;
  }
  // It exited, or was killed, or was never started.
  if ((end.exit != 0) + (end.signal != 0) + (end.error != 0) > 1) return std::nullopt;
  if (end.no_secrets && end.error == 0) return std::nullopt;
  if (end.start_ms < 0 || end.duration_us < 0 || end.cpu_us < 0 || end.memory_bytes < 0) {
    return std::nullopt;
  }
  return end;
}

}  // namespace tidemill::frame
