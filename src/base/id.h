// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tidemill {

// 128 random bits. The tag makes ids of different things different types.
template <typename Tag>
struct Id {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Id&) const = default;
};

// The 8-4-4-4-12 form of a UUID, as PostgreSQL prints and sorts it.
std::string FormatUuid(std::uint64_t high, std::uint64_t low);
// Lower or upper case; nothing but that form.
std::optional<std::array<std::uint64_t, 2>> ParseUuid(std::string_view text);

template <typename Tag>
std::string ToString(const Id<Tag>& id) {
  return FormatUuid(id.high, id.low);
}

template <typename IdType>
std::optional<IdType> ParseId(std::string_view text) {
  const auto parts = ParseUuid(text);
  if (!parts) return std::nullopt;
  return IdType{(*parts)[0], (*parts)[1]};
}

}  // namespace tidemill

template <typename Tag>
struct std::hash<tidemill::Id<Tag>> {
  std::size_t operator()(const tidemill::Id<Tag>& id) const noexcept { return id.high ^ id.low; }
};
