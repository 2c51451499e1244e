// SPDX-License-Identifier: Apache-2.0
#include "objects/listing.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/virtual_loop.h"

namespace tidemill {
namespace {

using Keys = std::vector<std::string>;

// A store that only lists, each call in its own time.
class ListedStore : public ObjectStore {
 public:
  ListedStore(Loop& loop, Random& random) : loop_(loop), random_(random) {}
  void Head(const std::string&, Done<ObjectInfo>) override {}
  void Get(const std::string&, ObjectRange, OnPiece, Done<ObjectInfo>) override {}
  void Put(const std::string&, ObjectBody, PutOptions, Done<void>) override {}
  void Delete(const std::string&, Done<void>) override {}
  void List(ListOptions options, Done<ListPage> done) override {
    most_under_way = std::max(most_under_way, ++under_way);
    loop_.After(std::chrono::milliseconds(50 + random_.Below(100)),
                [this, options = std::move(options), done = std::move(done)] {
                  --under_way;
                  if (!folds && !options.delimiter.empty()) return done(Fail(Code::kInvalid, "no"));
                  if (++calls == breaks_at) return done(Fail(Code::kForbidden, "no more"));
                  done(PageOf(options));
                });
  }

  std::set<std::string> keys;
  bool folds = true;
  bool backwards = false;
  int breaks_at = 0;
  int calls = 0;
  int under_way = 0;
  int most_under_way = 0;

 private:
  ListPage PageOf(const ListOptions& options) const {
    ListPage page;
    const std::string from = std::max(options.after, options.next);
    std::string last;
    for (auto key = keys.lower_bound(options.prefix);
         key != keys.end() && key->starts_with(options.prefix); ++key) {
      const std::size_t cut =
          options.delimiter.empty() ? key->npos : key->find('/', options.prefix.size());
      const std::string name = cut == key->npos ? *key : key->substr(0, cut + 1);
      if (*key <= from || name == options.next || name == last) continue;
      if (page.objects.size() + page.prefixes.size() == static_cast<std::size_t>(options.most)) {
        page.next = last;
        break;
      }
      last = name;
      if (cut == key->npos) page.objects.push_back({.key = name, .tag = "tag of " + name});
      if (cut != key->npos) page.prefixes.push_back(name);
    }
    if (backwards) std::reverse(page.objects.begin(), page.objects.end());
    return page;
  }

  Loop& loop_;
  Random& random_;
};

class ListingTest : public ::testing::Test {
 protected:
  Result<std::vector<ListedObject>> NextOf(Listing& listing) {
    std::optional<Result<std::vector<ListedObject>>> got;
    listing.Next([&](Result<std::vector<ListedObject>> objects) {
      EXPECT_FALSE(got);
      got = std::move(objects);
    });
    EXPECT_FALSE(got) << "called from inside";
    while (!got && loop_.Step()) {
    }
    return got ? *std::move(got) : Fail(Code::kInternal, "no answer");
  }
  Result<Keys> AllOf(Listing& listing) {
    Keys all;
    while (true) {
      TIDEMILL_TRY(const std::vector<ListedObject> some, NextOf(listing));
      if (some.empty()) return all;
      for (const auto& [key, tag] : some) all.push_back(key);
    }
  }
  // Folders of folders of files.
  void Fill(int folders, int files) {
    for (int i = 0; i < folders * files; ++i) {
      const std::string name = std::to_string(1'000'000 + i);
      store_.keys.insert("in/f" + std::to_string(i % folders) + "/" + name);
    }
  }
  std::int64_t MsOf(TimePoint from) const {
    return (loop_.Now() - from) / std::chrono::milliseconds(1);
  }

  SeededRandom random_{11};
  VirtualLoop loop_{random_};
  ListedStore store_{loop_, random_};
};

TEST_F(ListingTest, GivesTagsToWhoAsksForThem) {
  store_.keys = {"in/a", "in/b"};
  Listing with(loop_, store_, {.prefixes = {""}, .tags = true});
  EXPECT_EQ(NextOf(with).value(),
            (std::vector<ListedObject>{{"in/a", "tag of in/a"}, {"in/b", "tag of in/b"}}));
  Listing without(loop_, store_, {.prefixes = {""}});
  EXPECT_EQ(NextOf(without).value(), (std::vector<ListedObject>{{"in/a", ""}, {"in/b", ""}}));
}

TEST_F(ListingTest, GivesEveryKeyOnceAndInOrderWhateverTheTree) {
  const Keys names = {"a", "a-", "a.b", "ab", "b", "B", "\xc3\xa9", "0"};
  for (int round = 0; round < 60; ++round) {
    store_.keys.clear();
    store_.folds = round % 10 != 0;
    for (auto keys = random_.Below(800); keys > 0; --keys) {
      std::string key;
      for (auto depth = random_.Below(5); depth > 0; --depth) key += names[random_.Below(8)] + "/";
      store_.keys.insert(key + names[random_.Below(8)] + std::to_string(random_.Below(30)));
    }
    Keys prefixes = round % 3 == 0 ? Keys{""} : Keys{"a", "b/", "\xc3"};
    Keys expected;
    for (const std::string& key : store_.keys) {
      for (const std::string& prefix : prefixes) {
        if (key.starts_with(prefix) && !key.ends_with('7')) expected.push_back(key);
      }
    }
    Listing listing(loop_, store_,
                    {.prefixes = prefixes,
                     .wants = [](const std::string& key) { return !key.ends_with('7'); },
                     .page = 1 + static_cast<int>(random_.Below(20)),
                     .held_bytes = round % 2 == 0 ? 1u << 20 : 300u});
    const auto all = AllOf(listing);
    ASSERT_TRUE(all) << all.error().reason;
    ASSERT_EQ(*all, expected) << "round " << round;
    EXPECT_GE(listing.seen(), static_cast<std::int64_t>(expected.size()));
  }
}

TEST_F(ListingTest, AsksOnceForWhatIsShort) {
  Fill(3, 300);
  Listing listing(loop_, store_, {.prefixes = {"in/"}});
  EXPECT_EQ(AllOf(listing)->size(), 900u);
  EXPECT_EQ(store_.calls, 1);
}

TEST_F(ListingTest, ListsFoldersAtTheSameTime) {
  Fill(16, 1000);
  const TimePoint began = loop_.Now();
  Listing listing(loop_, store_, {.prefixes = {"in/"}, .page = 20});
  EXPECT_EQ(AllOf(listing)->size(), 16'000u);
  // 800 pages of 100 ms, one after the other, are 80 s.
  EXPECT_LT(MsOf(began), 12'000);
  EXPECT_LE(store_.most_under_way, static_cast<int>(Listing::kCallsAtOnce));
  EXPECT_LT(store_.calls, 900);
}

TEST_F(ListingTest, HoldsNoMoreThanItMay) {
  Fill(16, 1000);
  Listing listing(loop_, store_, {.prefixes = {"in/"}, .page = 20, .held_bytes = 100'000});
  ASSERT_TRUE(NextOf(listing));
  // Nobody asks for more.
  while (loop_.Step()) {
  }
  // A key takes some 45 bytes; calls that were under way may still bring some.
  EXPECT_LT(listing.seen(), 4'000);
  EXPECT_EQ(AllOf(listing)->size() + 20, 16'000u);
}

TEST_F(ListingTest, SaysWhatTheStoreSays) {
  Fill(4, 1000);
  store_.breaks_at = 9;
  Listing listing(loop_, store_, {.prefixes = {"in/"}, .page = 20});
  const auto all = AllOf(listing);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, Code::kForbidden);
  store_.backwards = true;
  Listing other(loop_, store_, {.prefixes = {"in/"}, .page = 20});
  const auto keys = AllOf(other);
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().reason, "the store lists its keys in no order");
}

TEST_F(ListingTest, IsNotToldOfAnythingOnceItIsGone) {
  Fill(4, 1000);
  {
    Listing listing(loop_, store_, {.prefixes = {"in/"}, .page = 20});
    ASSERT_TRUE(NextOf(listing));
    ASSERT_TRUE(NextOf(listing));
    listing.Next([](const auto&) { ADD_FAILURE(); });
  }
  while (loop_.Step()) {
  }
}

}  // namespace
}  // namespace tidemill
