// SPDX-License-Identifier: Apache-2.0
#include "submit/tar_writer.h"

#include <cstring>
#include <string_view>

namespace tidemill {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kNameBytes = 100;
// More than eleven octal digits hold.
constexpr std::int64_t kLargeBytes = std::int64_t{1} << 33;

void PutText(std::string& block, std::size_t at, std::string_view text) {
  std::memcpy(block.data() + at, text.data(), text.size());
}

// Digits with zeros before them, and a NUL behind.
void PutOctal(std::string& block, std::size_t at, std::size_t size, std::int64_t number) {
  for (std::size_t i = size - 1; i-- > 0; number /= 8) {
    block[at + i] = static_cast<char>('0' + number % 8);
  }
}

std::string Header(char kind, const TarItem& item) {
  std::string block(kBlock, '\0');
  PutText(block, 0, std::string_view(item.name).substr(0, kNameBytes));
  const bool runs = item.executable || kind == '5' || kind == '2';
  PutOctal(block, 100, 8, runs ? 0755 : 0644);
  PutOctal(block, 108, 8, 0);
  PutOctal(block, 116, 8, 0);
  PutOctal(block, 124, 12, item.size_bytes < kLargeBytes ? item.size_bytes : 0);
  PutOctal(block, 136, 12, 0);
  block[156] = kind;
  PutText(block, 157, std::string_view(item.target).substr(0, kNameBytes));
  PutText(block, 257, std::string_view("ustar\00000", 8));
  // The sum is made as if it stood there as spaces.
  PutText(block, 148, "        ");
  std::int64_t sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  PutOctal(block, 148, 7, sum);
  block[154] = '\0';
  return block;
}

// "LENGTH NAME=VALUE\n", where the length counts its own digits.
std::string PaxRecord(std::string_view name, std::string_view value) {
  std::size_t size = name.size() + value.size() + 3;
  std::size_t length = size + std::to_string(size).size();
  length = size + std::to_string(length).size();
  return std::to_string(length) + " " + std::string(name) + "=" + std::string(value) + "\n";
}

}  // namespace

std::string TarPadding(std::int64_t size_bytes) {
  const auto over = static_cast<std::size_t>(size_bytes) % kBlock;
  return std::string(over == 0 ? 0 : kBlock - over, '\0');
}

std::string TarHeader(const TarItem& item) {
  std::string pax;
  if (item.name.size() > kNameBytes) pax += PaxRecord("path", item.name);
  if (item.target.size() > kNameBytes) pax += PaxRecord("linkpath", item.target);
  if (item.size_bytes >= kLargeBytes) pax += PaxRecord("size", std::to_string(item.size_bytes));
  std::string out;
  if (!pax.empty()) {
    const auto size = static_cast<std::int64_t>(pax.size());
    out = Header('x', {.name = "pax", .size_bytes = size}) + pax + TarPadding(size);
  }
  switch (item.kind) {
    case TarItem::Kind::kFile:
      return out + Header('0', item);
    case TarItem::Kind::kFolder:
      return out + Header('5', item);
    case TarItem::Kind::kLink:
      break;
  }
  return out + Header('2', item);
}

std::string TarEnd() { return std::string(2 * kBlock, '\0'); }

}  // namespace tidemill
