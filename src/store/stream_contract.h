// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "store/store_testing.h"

// Who wants into the container of an item, and who is told so.
namespace tidemill {

inline constexpr std::chrono::seconds kStreamLife{30};

inline NewStream StreamInto(JobId job, std::int64_t item, std::uint64_t id = 1) {
  return {.id = {7, id}, .job = job, .item = item, .ask = "{\"rows\":24}", .life = kStreamLife};
}

// What is answered if nobody has a lease of the item.
inline std::string WhyNoStream(Store& store, JobId job, std::int64_t item) {
  const Result<SessionId> asked = store.AskStream(StreamInto(job, item, 99));
  if (asked || asked.error().code != Code::kConflict) return "no conflict";
  return asked.error().reason;
}

TEST_P(StoreTest, AStreamIsAskedOfWhoHasTheItemsLease) {
  const JobId job = Sealed({.chunks = {3, 5}});
  const SessionId one = Joined(), two = Joined(), three = Joined();
  Take(one, job, 3);    // 0 to 2
  Take(two, job, 2);    // 3 and 4
  Take(three, job, 2);  // 5 and 6
  EXPECT_TRUE(Must(store().ReadChange()).streams.empty());
  EXPECT_EQ(Must(store().AskStream(StreamInto(job, 5, 1))), three);
  EXPECT_EQ(Must(store().AskStream(StreamInto(job, 4, 2))), two);
  EXPECT_EQ(Must(store().AskStream(StreamInto(job, 2, 3))), one);
  const std::string ask = "{\"rows\":24}";
  EXPECT_EQ(
      Must(store().ReadChange()).streams,
      (std::vector<AskedStream>{
          {{7, 1}, three, job, 5, ask}, {{7, 2}, two, job, 4, ask}, {{7, 3}, one, job, 2, ask}}));
}

TEST_P(StoreTest, AStreamIsFoundInAJobOfFullChunks) {
  const JobId job = Must(store().CreateJob(JobOf("full"))).id;
  constexpr std::int64_t kChunk = limits::kItemsPerChunk;
  Must(store().AddPart(job, RangeOf(0, 2 * kChunk + 5)));
  Must(store().SealJob(job, 1));
  const SessionId one = Joined(), two = Joined(), three = Joined();
  Take(one, job, kChunk);
  Take(two, job, kChunk);
  Take(three, job, kChunk);
  EXPECT_EQ(Must(store().AskStream(StreamInto(job, kChunk - 1, 1))), one);
  EXPECT_EQ(Must(store().AskStream(StreamInto(job, kChunk, 2))), two);
  EXPECT_EQ(Must(store().AskStream(StreamInto(job, 2 * kChunk - 1, 3))), two);
  EXPECT_EQ(Must(store().AskStream(StreamInto(job, 2 * kChunk + 4, 4))), three);
}

TEST_P(StoreTest, AStreamIsOverAfterItsTime) {
  const JobId job = Sealed();
  const SessionId session = Joined();
  Take(session, job, 8);
  Must(store().AskStream(StreamInto(job, 0, 1)));
  Age(std::chrono::seconds(20));
  Must(store().AskStream(StreamInto(job, 1, 2)));
  Age(std::chrono::seconds(10));
  const std::vector<AskedStream> left = Must(store().ReadChange()).streams;
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].id, (StreamId{7, 2}));
  Age(std::chrono::seconds(20));
  EXPECT_TRUE(Must(store().ReadChange()).streams.empty());
}

TEST_P(StoreTest, AStreamThatIsAskedForAgainIsAnsweredAsItWas) {
  const JobId job = Sealed();
  const SessionId session = Joined();
  const Lease lease = Take(session, job, 8);
  EXPECT_EQ(Must(store().AskStream(StreamInto(job, 3))), session);
  Age(std::chrono::seconds(29));
  Tell(lease, {.ok = Upto(8)});
  EXPECT_EQ(Must(store().AskStream(StreamInto(job, 3))), session);
  EXPECT_EQ(Must(store().ReadChange()).streams.size(), 1u);
  // Nor does it live longer for that.
  Age(std::chrono::seconds(1));
  EXPECT_TRUE(Must(store().ReadChange()).streams.empty());
  EXPECT_EQ(CodeOfFailed(store().AskStream(StreamInto(job, 3))), Code::kConflict);
}

TEST_P(StoreTest, AStreamThatHasEndedMakesRoom) {
  const JobId job = Sealed();
  Take(Joined(), job, 8);
  Must(store().AskStream(StreamInto(job, 0, 1)));
  Must(store().AskStream(StreamInto(job, 1, 2)));
  Must(store().EndStream({7, 1}));
  Must(store().EndStream({7, 1}));
  const std::vector<AskedStream> left = Must(store().ReadChange()).streams;
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].id, (StreamId{7, 2}));
}

TEST_P(StoreTest, NoStreamIntoAnItemThatNobodyHas) {
  const JobId job = Sealed();
  const Lease lease = Take(Joined(), job, 2);
  EXPECT_EQ(WhyNoStream(store(), job, 7), "item 7 waits for its turn");
  Tell(lease, {.ok = Items({0}), .failed = Items({1})});
  EXPECT_EQ(WhyNoStream(store(), job, 0), "item 0 has succeeded");
  EXPECT_EQ(WhyNoStream(store(), job, 1), "item 1 has failed");
  Must(store().CancelJob(job));
  Sweep(job);
  EXPECT_EQ(WhyNoStream(store(), job, 7), "item 7 was cancelled");
  EXPECT_EQ(CodeOfFailed(store().AskStream(StreamInto(job, 8))), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(store().AskStream(StreamInto(job, -1))), Code::kNotFound);
  EXPECT_EQ(CodeOfFailed(store().AskStream(StreamInto({job.number + 100}, 0))), Code::kNotFound);
  EXPECT_TRUE(Must(store().ReadChange()).streams.empty());
}

TEST_P(StoreTest, NoMoreStreamsAreAskedForThanAllAreToldOf) {
  const JobId job = Sealed();
  Take(Joined(), job, 8);
  for (std::uint64_t i = 1; i <= kAskedStreams; ++i) {
    Must(store().AskStream(StreamInto(job, 0, i)));
  }
  const std::uint64_t more = kAskedStreams + 1;
  EXPECT_EQ(CodeOfFailed(store().AskStream(StreamInto(job, 0, more))), Code::kExhausted);
  EXPECT_EQ(Must(store().ReadChange()).streams.size(), static_cast<std::size_t>(kAskedStreams));
  // One of them, said again.
  Must(store().AskStream(StreamInto(job, 0, 5)));
  Age(kStreamLife);
  Must(store().AskStream(StreamInto(job, 0, more)));
  EXPECT_EQ(Must(store().ReadChange()).streams.size(), 1u);
}

}  // namespace tidemill
