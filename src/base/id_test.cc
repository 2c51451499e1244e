// SPDX-License-Identifier: Apache-2.0
#include "base/id.h"

#include <algorithm>
#include <unordered_set>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace tidemill {
namespace {

using ThingId = Id<struct ThingTag>;

constexpr ThingId kThing{0x0123456789abcdef, 0xfedcba9876543210};
constexpr std::string_view kThingText = "01234567-89ab-cdef-fedc-ba9876543210";

TEST(Id, IsPrintedAsAUuid) {
  EXPECT_EQ(ToString(kThing), kThingText);
  EXPECT_EQ(ToString(ThingId{}), "00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(ToString(ThingId{~0ull, ~0ull}), "ffffffff-ffff-ffff-ffff-ffffffffffff");
}

TEST(Id, IsReadInLowerAndUpperCase) {
  EXPECT_EQ(ParseId<ThingId>(kThingText), kThing);
  EXPECT_EQ(ParseId<ThingId>("01234567-89AB-CDEF-FEDC-BA9876543210"), kThing);
}

TEST(Id, RefusesEveryOtherForm) {
  for (const char* text :
       {"", "0", "0123456789abcdeffedcba9876543210", "{01234567-89ab-cdef-fedc-ba9876543210}",
        "01234567-89ab-cdef-fedc-ba987654321", "01234567-89ab-cdef-fedc-ba98765432100",
        " 01234567-89ab-cdef-fedc-ba987654321", "01234567-89ab-cdef-fedc-ba987654321g",
        "01234567_89ab-cdef-fedc-ba9876543210", "012345678-9ab-cdef-fedc-ba9876543210",
        "0x234567-89ab-cdef-fedc-ba9876543210"}) {
    EXPECT_EQ(ParseId<ThingId>(text), std::nullopt) << text;
  }
}

TEST(Id, RefusesAnyOtherCharacterAtAnyPlace) {
  for (std::size_t i = 0; i < kThingText.size(); ++i) {
    for (const char c : {'/', ':', '@', 'G', '`', 'g', ' ', '\0', '\xff'}) {
      std::string text(kThingText);
      text[i] = c;
      EXPECT_EQ(ParseId<ThingId>(text), std::nullopt) << text;
    }
  }
}

RC_GTEST_PROP(Id, ComesBackFromItsText, (std::uint64_t high, std::uint64_t low)) {
  const ThingId id{high, low};
  RC_ASSERT(ParseId<ThingId>(ToString(id)) == id);
}

RC_GTEST_PROP(Id, SortsAsItsTextDoes,
              (std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d)) {
  const ThingId x{a, b};
  const ThingId y{*rc::gen::element(a, c), d};
  RC_ASSERT((x < y) == (ToString(x) < ToString(y)));
  RC_ASSERT((x == y) == (ToString(x) == ToString(y)));
}

TEST(Id, CanBeHashed) {
  const std::unordered_set<ThingId> ids = {{1, 2}, {2, 1}, {1, 2}};
  EXPECT_EQ(ids.size(), 2u);
}

}  // namespace
}  // namespace tidemill
