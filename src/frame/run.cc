// SPDX-License-Identifier: Apache-2.0
// What an agent gives an init to run.
#include <algorithm>

#include "frame/bytes.h"
#include "frame/frame.h"

namespace tidemill::frame {
namespace {

constexpr std::uint32_t kAlone = 1;

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

void PutTag(std::string& out, std::string_view tag) {
  Put(out, static_cast<std::uint32_t>(tag.size()));
  out.append(tag);
}

bool TakeTag(std::string_view& bytes, std::string_view& tag) {
  if (bytes.size() < 4) return false;
  const auto size = Take<std::uint32_t>(bytes);
  if (size > kTagBytes || size > bytes.size()) return false;
  tag = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return true;
}

}  // namespace

bool IsSecretFileName(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto is_rest = [&](char c) { return is_plain(c) || c == '.' || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= kSecretNameBytes && is_plain(name.front()) &&
         std::all_of(name.begin(), name.end(), is_rest);
}

namespace {

std::optional<std::string> Encode(Kind kind, std::uint64_t number, const Run& run) {
  if (run.argv.empty() || run.timeout_us < 0 || run.grace_us < 0) return std::nullopt;
  if (!AreSecretFiles(run.secret_files) || run.tag.size() > kTagBytes) return std::nullopt;
  std::size_t bytes = kRunBytesLeast - 1 + run.tag.size() + SizeOf(run.secret_files);
  for (const auto* strings : {&run.argv, &run.env}) {
    for (const std::string_view text : *strings) {
      bytes += text.size() + 1;
      if (bytes > kPayloadToInit || HasNul(text)) return std::nullopt;
    }
  }
  std::string out = Header(kind, number, bytes);
  Put(out, run.timeout_us);
  Put(out, run.grace_us);
  Put(out, static_cast<std::uint32_t>(run.argv.size()));
  Put(out, static_cast<std::uint32_t>(run.env.size()));
  PutTag(out, run.tag);
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

}  // namespace

std::optional<std::string> EncodeRun(std::uint64_t number, const Run& run) {
  return Encode(Kind::kRun, number, run);
}

std::optional<std::string> EncodeProgram(const Run& program) {
  return Encode(Kind::kProgram, 0, program);
}

std::optional<Run> DecodeRun(std::string_view payload) {
  if (payload.size() < kRunBytesLeast || payload.size() > kPayloadToInit) return std::nullopt;
  Run run;
  run.timeout_us = Take<std::int64_t>(payload);
  run.grace_us = Take<std::int64_t>(payload);
  const auto arguments = Take<std::uint32_t>(payload);
  const auto variables = Take<std::uint32_t>(payload);
  if (run.timeout_us < 0 || run.grace_us < 0 || arguments == 0) return std::nullopt;
  if (!TakeTag(payload, run.tag)) return std::nullopt;
  if (!TakeStrings(payload, arguments, run.argv)) return std::nullopt;
  if (!TakeStrings(payload, variables, run.env)) return std::nullopt;
  if (!payload.empty() && !TakeSecretFiles(payload, run.secret_files)) return std::nullopt;
  return run;
}

std::optional<std::string> EncodeItem(std::uint64_t number, const Item& item) {
  if (item.timeout_us < 0 || item.grace_us < 0 || item.json.empty()) return std::nullopt;
  if (item.tag.size() > kTagBytes) return std::nullopt;
  const std::size_t bytes = kItemBytesLeast - 1 + item.tag.size() + item.json.size();
  if (bytes > kPayloadToInit) return std::nullopt;
  std::string out = Header(Kind::kItem, number, bytes);
  Put(out, item.timeout_us);
  Put(out, item.grace_us);
  Put(out, item.name);
  Put(out, item.alone ? kAlone : 0U);
  PutTag(out, item.tag);
  out.append(item.json);
  return out;
}

std::optional<Item> DecodeItem(std::string_view payload) {
  if (payload.size() < kItemBytesLeast || payload.size() > kPayloadToInit) return std::nullopt;
  Item item;
  item.timeout_us = Take<std::int64_t>(payload);
  item.grace_us = Take<std::int64_t>(payload);
  item.name = Take<std::uint64_t>(payload);
  const auto flags = Take<std::uint32_t>(payload);
  item.alone = (flags & kAlone) != 0;
  if (item.timeout_us < 0 || item.grace_us < 0 || (flags & ~kAlone) != 0) return std::nullopt;
  if (!TakeTag(payload, item.tag) || payload.empty()) return std::nullopt;
  item.json = payload;
  return item;
}

}  // namespace tidemill::frame
