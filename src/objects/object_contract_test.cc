// SPDX-License-Identifier: Apache-2.0
#include "objects/object_contract.h"

#include <algorithm>

namespace tidemill {

TEST_P(ObjectStoreTest, GivesBackWhatItStores) {
  TIDEMILL_EXPECT_OK(Put("a/b.txt", "hello", {.marks = {{"job", "j 1"}, {"round-2", "x"}}}));
  EXPECT_EQ(Get("a/b.txt").value(), "hello");
  const auto info = Head("a/b.txt");
  ASSERT_TRUE(info) << info.error().reason;
  EXPECT_EQ(info->size_bytes, 5);
  EXPECT_EQ(info->marks, (ObjectMarks{{"job", "j 1"}, {"round-2", "x"}}));
  TIDEMILL_EXPECT_OK(Put("a/b.txt", "other text"));
  EXPECT_EQ(Get("a/b.txt").value(), "other text");
  EXPECT_NE(Head("a/b.txt")->tag, info->tag);
  EXPECT_FALSE(info->tag.empty());
  EXPECT_TRUE(Head("a/b.txt")->marks.empty());
}

TEST_P(ObjectStoreTest, AListHasTheTagsOfWhatIsThere) {
  TIDEMILL_EXPECT_OK(Put("t/a", "hello"));
  const auto before = List({.prefix = "t/"});
  TIDEMILL_EXPECT_OK(Put("t/a", "other"));
  const auto after = List({.prefix = "t/"});
  ASSERT_EQ(before->objects.size(), 1U);
  EXPECT_FALSE(before->objects[0].tag.empty());
  EXPECT_NE(before->objects[0].tag, after->objects[0].tag);
  EXPECT_EQ(List({.prefix = "t/"})->objects[0].tag, after->objects[0].tag);
  EXPECT_EQ(Head("t/a")->tag, after->objects[0].tag);
}

TEST_P(ObjectStoreTest, StoresNothingAtAllToo) {
  TIDEMILL_EXPECT_OK(Put("empty", ""));
  EXPECT_EQ(Head("empty")->size_bytes, 0);
  EXPECT_EQ(Get("empty").value(), "");
}

TEST_P(ObjectStoreTest, KnowsWhatIsNotThere) {
  TIDEMILL_EXPECT_CODE(Code::kNotFound, Head("none"));
  TIDEMILL_EXPECT_CODE(Code::kNotFound, Get("none"));
  TIDEMILL_EXPECT_CODE(Code::kNotFound, Get("none", {.offset = 5, .size = 1}));
  TIDEMILL_EXPECT_OK(Delete("none"));
  TIDEMILL_EXPECT_OK(Put("none/below", "x"));
  TIDEMILL_EXPECT_CODE(Code::kNotFound, Head("none/below/it"));
}

TEST_P(ObjectStoreTest, GivesARange) {
  TIDEMILL_EXPECT_OK(Put("r", "0123456789"));
  EXPECT_EQ(Get("r", {.offset = 2, .size = 3}).value(), "234");
  EXPECT_EQ(Get("r", {.offset = 7}).value(), "789");
  EXPECT_EQ(Get("r", {.offset = 8, .size = 100}).value(), "89");
  EXPECT_EQ(Get("r", {.offset = 0, .size = 1}).value(), "0");
  TIDEMILL_EXPECT_CODE(Code::kInvalid, Get("r", {.offset = 10}));
  TIDEMILL_EXPECT_CODE(Code::kInvalid, Get("r", {.offset = -1}));
  TIDEMILL_EXPECT_CODE(Code::kInvalid, Get("r", {.offset = 0, .size = 0}));
}

TEST_P(ObjectStoreTest, StoresWhatIsLong) {
  const std::string text = Long((36 << 20) + 5);
  TIDEMILL_EXPECT_OK(Put("long", text, {.marks = {{"job", "1"}}}));
  EXPECT_TRUE(Get("long").value() == text);
  EXPECT_EQ(Head("long")->size_bytes, static_cast<std::int64_t>(text.size()));
  EXPECT_EQ(Head("long")->marks, (ObjectMarks{{"job", "1"}}));
  const ObjectRange range{.offset = (8 << 20) - 3, .size = (16 << 20) + 7};
  EXPECT_TRUE(Get("long", range).value() == text.substr((8 << 20) - 3, (16 << 20) + 7));
}

TEST_P(ObjectStoreTest, PutsIfAbsentOnce) {
  TIDEMILL_EXPECT_OK(Put("once", "first", {.if_absent = true}));
  TIDEMILL_EXPECT_CODE(Code::kConflict, Put("once", "second", {.if_absent = true}));
  EXPECT_EQ(Get("once").value(), "first");
  TIDEMILL_EXPECT_CODE(Code::kConflict, Put("once", Long(17 << 20), {.if_absent = true}));
  EXPECT_EQ(Get("once").value(), "first");
  TIDEMILL_EXPECT_OK(Delete("once"));
  TIDEMILL_EXPECT_OK(Put("once", Long(17 << 20), {.if_absent = true}));
  TIDEMILL_EXPECT_CODE(Code::kConflict, Put("once", "third", {.if_absent = true}));
  EXPECT_EQ(Head("once")->size_bytes, 17 << 20);
}

TEST_P(ObjectStoreTest, ReplacesOnlyWhatItWasToldTo) {
  for (const std::string& text : {std::string("second"), Long(17 << 20)}) {
    TIDEMILL_EXPECT_OK(Put("swap", "first"));
    const std::string tag = Head("swap")->tag;
    TIDEMILL_EXPECT_OK(Put("swap", text, {.if_tag = tag}));
    EXPECT_TRUE(Get("swap").value() == text);
    TIDEMILL_EXPECT_CODE(Code::kConflict, Put("swap", "third", {.if_tag = tag}));
    TIDEMILL_EXPECT_CODE(Code::kConflict, Put("swap", Long(18 << 20), {.if_tag = tag}));
    EXPECT_TRUE(Get("swap").value() == text);
    const std::string last = Head("swap")->tag;
    TIDEMILL_EXPECT_OK(Delete("swap"));
    TIDEMILL_EXPECT_CODE(Code::kConflict, Put("swap", "fourth", {.if_tag = last}));
    TIDEMILL_EXPECT_CODE(Code::kNotFound, Head("swap"));
  }
}

TEST_P(ObjectStoreTest, LetsOneOfManyWin) {
  int under_way = 16;
  std::vector<std::string> won;
  for (int i = 0; i < 16; ++i) {
    const std::string text = "text of " + std::to_string(i);
    store_.Put("race", BodyOf(text), {.if_absent = true}, [&, text](const Result<void>& put) {
      if (put) {
        won.push_back(text);
      } else {
        EXPECT_EQ(put.error().code, Code::kConflict) << put.error().reason;
      }
      if (--under_way == 0) holder_->loop().Stop();
    });
  }
  holder_->loop().Run();
  ASSERT_EQ(won.size(), 1u);
  EXPECT_EQ(Get("race").value(), won[0]);
}

TEST_P(ObjectStoreTest, TakesOddKeys) {
  std::vector<std::string> keys = {
      "a b", "a+b",    "é/ü", "(=)",  "a'b*!",   "100%",  "x?y=1&z", "%2F",  "日本/語",
      "#x",  "a:b@c$", ";,",  "~._-", "a&amp;b", "<tag>", "\"q\"",   "[{}]", "back\\slash"};
  if (holder_->takes_empty_parts()) keys.push_back("a//b");
  for (const std::string& key : keys) {
    SCOPED_TRACE(key);
    TIDEMILL_EXPECT_OK(Put("odd/" + key, key));
    EXPECT_EQ(Get("odd/" + key).value(), key);
    EXPECT_EQ(Head("odd/" + key)->size_bytes, static_cast<std::int64_t>(key.size()));
    if (key != "a//b" || holder_->lists_empty_parts()) {
      EXPECT_EQ(KeysOf(List({.prefix = "odd/" + key}).value()),
                std::vector<std::string>{"odd/" + key});
    }
    TIDEMILL_EXPECT_OK(Delete("odd/" + key));
    TIDEMILL_EXPECT_CODE(Code::kNotFound, Head("odd/" + key));
  }
}

TEST_P(ObjectStoreTest, RefusesKeysAndMarksThatNobodyCanKeep) {
  for (const std::string& key :
       {std::string(), std::string("a\nb"), std::string("\xff"), std::string(1025, 'a'),
        std::string("\xc0\xaf"), std::string("a\0b", 3)}) {
    TIDEMILL_EXPECT_CODE(Code::kInvalid, Put(key, "x"));
    TIDEMILL_EXPECT_CODE(Code::kInvalid, Head(key));
    TIDEMILL_EXPECT_CODE(Code::kInvalid, Get(key));
    TIDEMILL_EXPECT_CODE(Code::kInvalid, Delete(key));
  }
  for (const ObjectMarks& marks :
       {ObjectMarks{{"Job", "x"}}, ObjectMarks{{"", "x"}}, ObjectMarks{{"a", ""}},
        ObjectMarks{{"a", "b\r\nc: d"}}, ObjectMarks{{"a", "é"}}, ObjectMarks{{"a", " b"}}}) {
    TIDEMILL_EXPECT_CODE(Code::kInvalid, Put("marked", "x", {.marks = marks}));
  }
  TIDEMILL_EXPECT_CODE(Code::kNotFound, Head("marked"));
}

TEST_P(ObjectStoreTest, ListsInPages) {
  const std::vector<std::string> keys = {"l/a", "l/b", "l/c/1", "l/c/2", "l/d", "l/e/f/1", "l/é"};
  for (const std::string& key : keys) TIDEMILL_EXPECT_OK(Put(key, "12"));
  TIDEMILL_EXPECT_OK(Put("other", ""));
  EXPECT_EQ(KeysOf(List({.prefix = "l/"}).value()), keys);
  EXPECT_EQ(List({.prefix = "l/a"})->objects.at(0).size_bytes, 2);
  const auto folded = List({.prefix = "l/", .delimiter = "/"});
  ASSERT_TRUE(folded) << folded.error().reason;
  EXPECT_EQ(KeysOf(*folded), (std::vector<std::string>{"l/a", "l/b", "l/d", "l/é"}));
  EXPECT_EQ(folded->prefixes, (std::vector<std::string>{"l/c/", "l/e/"}));
  EXPECT_EQ(folded->next, "");
  EXPECT_TRUE(List({.prefix = "nothing"})->objects.empty());
}

TEST_P(ObjectStoreTest, GoesOnWhereAPageEnded) {
  const std::vector<std::string> keys = {"l/a", "l/b", "l/c/1", "l/c/2", "l/d", "l/e/f/1", "l/é"};
  for (const std::string& key : keys) TIDEMILL_EXPECT_OK(Put(key, "12"));
  for (const std::string& delimiter : {std::string(), std::string("/")}) {
    std::vector<std::string> seen;
    ListOptions options{.prefix = "l/", .delimiter = delimiter, .most = 2};
    for (int pages = 0; pages < 10; ++pages) {
      const auto page = List(options);
      ASSERT_TRUE(page) << page.error().reason;
      if (holder_->counts_folded()) {
        EXPECT_LE(page->objects.size() + page->prefixes.size(), 2u);
      }
      for (const std::string& key : KeysOf(*page)) seen.push_back(key);
      seen.insert(seen.end(), page->prefixes.begin(), page->prefixes.end());
      options.next = page->next;
      if (options.next.empty()) break;
    }
    std::sort(seen.begin(), seen.end());
    if (!holder_->counts_folded()) seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    EXPECT_EQ(seen, delimiter.empty()
                        ? keys
                        : std::vector<std::string>({"l/a", "l/b", "l/c/", "l/d", "l/e/", "l/é"}));
  }
}

TEST_P(ObjectStoreTest, BeginsBehindAKey) {
  const std::vector<std::string> keys = {"l/a", "l/b", "l/c-d", "l/c/1", "l/c/2", "l/d", "l/e/f/1"};
  for (const std::string& key : keys) TIDEMILL_EXPECT_OK(Put(key, "12"));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::vector<std::string> rest(keys.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                        keys.end());
    EXPECT_EQ(KeysOf(List({.prefix = "l/", .after = keys[i]}).value()), rest) << keys[i];
    std::vector<std::string> seen;
    ListOptions options{.prefix = "l/", .after = keys[i], .most = 2};
    do {
      const auto page = List(options);
      ASSERT_TRUE(page) << page.error().reason;
      for (const std::string& key : KeysOf(*page)) seen.push_back(key);
      options.next = page->next;
    } while (!options.next.empty() && seen.size() <= keys.size());
    EXPECT_EQ(seen, rest) << keys[i];
  }
  // A key that is not there, and the name of a folder.
  EXPECT_EQ(KeysOf(List({.prefix = "l/", .after = "l/c/"}).value()),
            (std::vector<std::string>{"l/c/1", "l/c/2", "l/d", "l/e/f/1"}));
  EXPECT_TRUE(List({.prefix = "l/", .after = "l/z"})->objects.empty());
}

TEST_P(ObjectStoreTest, EndsAGetWhenItsReaderFails) {
  TIDEMILL_EXPECT_OK(Put("long", Long(20 << 20)));
  int pieces = 0;
  const auto on_piece = [&pieces](std::string_view) -> Result<void> {
    if (++pieces < 2) return {};
    return Fail(Code::kExhausted, "no space");
  };
  TIDEMILL_EXPECT_CODE(Code::kExhausted, Await<ObjectInfo>([&](auto done) {
                         store_.Get("long", {}, on_piece, done);
                       }));
  EXPECT_EQ(pieces, 2);
}

TEST_P(ObjectStoreTest, StoresNothingOfABodyThatCannotBeRead) {
  for (const std::int64_t size : {100, 20 << 20}) {
    const ObjectBody body{.size_bytes = size,
                          .read = [](std::int64_t offset, std::size_t part) -> Result<std::string> {
                            if (offset > 0 || part < 1000) return Fail(Code::kLost, "gone");
                            return std::string(part, 'x');
                          }};
    TIDEMILL_EXPECT_CODE(Code::kLost,
                         Await<void>([&](auto done) { store_.Put("torn", body, {}, done); }));
    TIDEMILL_EXPECT_CODE(Code::kNotFound, Head("torn"));
    EXPECT_TRUE(List({})->objects.empty());
  }
}

}  // namespace tidemill
