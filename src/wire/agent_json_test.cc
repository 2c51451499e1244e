// SPDX-License-Identifier: Apache-2.0
#include "wire/agent_json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;

Bits RandomBits(Random& random, int length) {
  Bits bits(length);
  for (int i = 0; i < length; ++i) {
    if (random.Chance(0.3)) bits.Set(i);
  }
  return bits;
}

std::string AnyBytes(Random& random) {
  std::string bytes(random.Below(200), '\0');
  for (char& c : bytes) c = static_cast<char>(random.Next());
  return bytes;
}

SyncRequest AnySync(Random& random) {
  SyncRequest request;
  request.session = random.NewId<SessionId>();
  request.free = {static_cast<std::int64_t>(random.Below(1'000'000)),
                  static_cast<std::int64_t>(random.Below(1ULL << 50))};
  if (random.Chance(0.5)) request.free.devices = {{"machine", 1}, {"nvidia.com/gpu", 0}};
  for (std::uint64_t i = random.Below(5); i > 0; --i)
    request.known.push_back(random.NewId<LeaseId>());
  for (std::uint64_t i = random.Below(5); i > 0; --i) {
    Settlement& settlement = request.settlements.emplace_back();
    settlement.lease = random.NewId<LeaseId>();
    settlement.seq = static_cast<std::int32_t>(random.Below(1ULL << 31));
    settlement.ok = RandomBits(random, limits::kItemsPerChunk);
    settlement.failed = RandomBits(random, limits::kItemsPerChunk);
    settlement.back = RandomBits(random, limits::kItemsPerChunk);
    if (random.Chance(0.5)) settlement.final = RandomBits(random, limits::kItemsPerChunk);
    if (random.Chance(0.5)) settlement.memory = RandomBits(random, limits::kItemsPerChunk);
    if (random.Chance(0.5)) settlement.begun = RandomBits(random, limits::kItemsPerChunk);
    settlement.body = AnyBytes(random);
  }
  for (std::uint64_t i = random.Below(3); i > 0; --i) {
    const double squares = static_cast<double>(random.Below(1ULL << 50)) / 3;
    request.measured.push_back({{7}, 12, 3400, squares, static_cast<std::int64_t>(i)});
  }
  request.leaving = random.Chance(0.5);
  if (random.Chance(0.5)) {
    request.status = MachineStatus{"docker 27.1", random.Chance(0.5), {}};
    for (std::int64_t i = static_cast<std::int64_t>(random.Below(3)); i > 0; --i) {
      JobUse& use = request.status->jobs.emplace_back();
      use = {{i}, 3, 2500, std::int64_t{1} << 40};
      if (random.Chance(0.5)) use.waits_for = "pulling its image: 40 %";
      if (random.Chance(0.5)) use.progress = {{17, 400, "epoch 2"}, {18, 1000, ""}};
    }
  }
  if (random.Chance(0.3)) request.troubles = {{{7}, "no such image: \"a/b\""}, {{8}, "-"}};
  return request;
}

SyncResult AnyResult(Random& random, SessionId session) {
  SyncResult result;
  for (std::uint64_t i = random.Below(4); i > 0; --i) {
    Grant& grant = result.grants.emplace_back();
    const int length = 1 + static_cast<int>(random.Below(limits::kItemsPerChunk));
    grant.lease = {random.NewId<LeaseId>(), session, {{7}, 3}, 2, RandomBits(random, length)};
    if (random.Chance(0.5)) grant.lease.memory_bytes = std::int64_t{1} << 33;
    grant.lease.tried = random.Chance(0.5);
    grant.first_item = 6144;
    grant.tries = {{{7}, 6150, 1, 0}, {{7}, 6151, 0, 3}, {{7}, 6152, 0, 0, 4096, 2}};
  }
  for (std::uint64_t i = random.Below(4); i > 0; --i)
    result.gone.push_back(random.NewId<LeaseId>());
  result.refused = {{random.NewId<LeaseId>(), 4, "an \"offset\" lies past the end\\"}};
  result.draining = random.Chance(0.5);
  if (random.Chance(0.5)) result.followed = {{7}, {9}};
  if (random.Chance(0.5)) result.back = {{7}, {1LL << 40}};
  if (random.Chance(0.5)) {
    result.streams = {{random.NewId<StreamId>(), session, {7}, 0, R"({"port":80})"},
                      {random.NewId<StreamId>(), session, {9}, 12, R"({"term":"a\"\n"})"}};
  }
  return result;
}

std::string WhyNotSync(std::string_view body) {
  const auto read = ParseSyncRequest(body);
  if (read) return "";
  EXPECT_EQ(read.error().code, Code::kInvalid);
  return read.error().reason;
}

// A sync with one settlement, of which one field is what the test says.
std::string Settling(std::string_view field, std::string_view value) {
  std::string out =
      R"({"session":"00000000-0000-0001-0000-000000000002","free":{"cpus":1,"memory":0},)"
      R"("settlements":[{"lease":"00000000-0000-0001-0000-000000000003","seq":0},)"
      R"({"lease":"00000000-0000-0001-0000-000000000003","seq":1,")";
  return out.append(field).append("\":").append(value).append("}]}");
}

RC_GTEST_PROP(SyncJson, ARequestComesBackAsItWent, (std::uint64_t seed)) {
  SeededRandom random(seed);
  const SyncRequest request = AnySync(random);
  const auto back = ParseSyncRequest(FormatSyncRequest(request));
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->session == request.session);
  RC_ASSERT(back->free == request.free);
  RC_ASSERT(back->known == request.known);
  RC_ASSERT(back->leaving == request.leaving);
  RC_ASSERT(back->status == request.status);
  RC_ASSERT(back->troubles == request.troubles);
  RC_ASSERT(back->measured.size() == request.measured.size());
  for (std::size_t i = 0; i < request.measured.size(); ++i) {
    const Measured& went = request.measured[i];
    const Measured& came = back->measured[i];
    RC_ASSERT(came.job == went.job && came.items == went.items && came.run_ms == went.run_ms);
    RC_ASSERT(came.squares == went.squares);
    RC_ASSERT(came.lost_ms == went.lost_ms);
  }
  RC_ASSERT(back->settlements.size() == request.settlements.size());
  for (std::size_t i = 0; i < request.settlements.size(); ++i) {
    const Settlement& went = request.settlements[i];
    const Settlement& came = back->settlements[i];
    RC_ASSERT(came.lease == went.lease);
    RC_ASSERT(came.seq == went.seq);
    RC_ASSERT(came.ok == went.ok);
    RC_ASSERT(came.failed == went.failed);
    RC_ASSERT(came.back == went.back);
    RC_ASSERT(came.final == went.final);
    RC_ASSERT(came.memory == went.memory);
    RC_ASSERT(came.begun == went.begun);
    RC_ASSERT(came.body == went.body);
  }
}

RC_GTEST_PROP(SyncJson, AnAnswerComesBackAsItWent, (std::uint64_t seed)) {
  SeededRandom random(seed);
  const auto session = random.NewId<SessionId>();
  const SyncResult result = AnyResult(random, session);
  const auto back = ParseSyncResult(FormatSyncResult(result), session);
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == result);
}

// Whatever is cut off or changed, the reader says no or yes, and lives.
RC_GTEST_PROP(SyncJson, DamagedTextIsReadOrRefused, (std::uint64_t seed)) {
  SeededRandom random(seed);
  std::string body = FormatSyncRequest(AnySync(random));
  body.resize(random.Below(body.size() + 1));
  for (std::uint64_t i = random.Below(4); i > 0 && !body.empty(); --i) {
    body[random.Below(body.size())] = static_cast<char>(random.Next());
  }
  const auto read = ParseSyncRequest(body);
  RC_ASSERT(read.has_value() || read.error().code == Code::kInvalid);
}

TEST(SyncJson, LooksAsTheContractSays) {
  SyncResult result;
  Grant& grant = result.grants.emplace_back();
  grant.lease = {{1, 2}, {3, 4}, {{7}, 3}, 0, Bits::Range(2048, 0, 40)};
  grant.first_item = 6144;
  grant.tries = {{{7}, 6150, 1, 0}};
  EXPECT_EQ(FormatSyncResult(result),
            R"({"leases":[{"lease":"00000000-0000-0001-0000-000000000002","job":7,"chunk":3,)"
            R"("first_item":6144,"length":2048,"items":"0-39","round":0,)"
            R"("tries":[{"item":6150,"attempts":1,"lost":0}]}],"gone":[],"refused":[],)"
            R"("draining":false})");
  EXPECT_EQ(FormatWaitAnswer(true), R"({"sync":true})");
}

TEST(SyncJson, StreamsAreToldAsTheContractSays) {
  SyncResult result;
  result.streams = {{{1, 2}, {3, 4}, {7}, 12, R"({"port":80})"}};
  EXPECT_EQ(FormatSyncResult(result),
            R"({"leases":[],"gone":[],"refused":[],"draining":false,"streams":[)"
            R"({"id":"00000000-0000-0001-0000-000000000002","job":7,"item":12,)"
            R"("ask":{"port":80}}]})");
}

TEST(SyncJson, AStreamsAskIsKeptWhateverItIs) {
  const auto read = [](const std::string& ask) {
    return ParseSyncResult(
        R"({"streams":[{"id":"00000000-0000-0001-0000-000000000002","job":7,"item":0)" + ask +
            "}]}",
        {3, 4});
  };
  EXPECT_EQ(read(R"(,"ask":{ "newer" : [ 1 ] })")->streams.at(0),
            (AskedStream{{1, 2}, {3, 4}, {7}, 0, R"({"newer":[1]})"}));
  EXPECT_EQ(read(R"(,"ask":"{}")").error().reason, "streams[0].ask: must be an object");
  EXPECT_EQ(read("").error().reason, "streams[0].ask: must be an object");
}

TEST(SyncJson, AFieldThatIsWrongIsNamed) {
  EXPECT_EQ(WhyNotSync(Settling("ok", "\"0-5\"")), "");
  EXPECT_EQ(WhyNotSync(Settling("ok", "7")), "settlements[1].ok: must be a string, not a number");
  EXPECT_NE(WhyNotSync(Settling("failed", "\"5,4\"")).find("settlements[1].failed: a run"),
            std::string::npos);
  EXPECT_NE(WhyNotSync(Settling("back", "\"2048\"")).find("settlements[1].back: an offset"),
            std::string::npos);
  EXPECT_EQ(WhyNotSync(Settling("report", "\"?\"")), "settlements[1].report: is not base64");
  EXPECT_EQ(WhyNotSync(R"({"session":"x"})"), "session: not a UUID");
  EXPECT_EQ(WhyNotSync("[]"), "the body: must be an object, not an array");
  EXPECT_EQ(WhyNotSync(R"({"session":"00000000-0000-0001-0000-000000000002"})"),
            "free: is missing");
  EXPECT_EQ(WhyNotSync(R"({"session":"00000000-0000-0001-0000-000000000002",)"
                       R"("free":{"cpus":-1,"memory":0}})"),
            "free.cpus: must be from 0 to 1000000");
}

TEST(SyncJson, TooMuchOfSomethingIsRefused) {
  SyncRequest request;
  request.settlements.resize(limits::kSettlementsPerSync);
  EXPECT_TRUE(ParseSyncRequest(FormatSyncRequest(request)));
  request.settlements.resize(limits::kSettlementsPerSync + 1);
  EXPECT_EQ(WhyNotSync(FormatSyncRequest(request)), "settlements: has more than 256 elements");
  request.settlements.resize(1);
  request.settlements[0].body.resize(limits::kReportBytes);
  EXPECT_TRUE(ParseSyncRequest(FormatSyncRequest(request)));
  request.settlements[0].body.resize(limits::kReportBytes + 1);
  EXPECT_EQ(WhyNotSync(FormatSyncRequest(request)),
            "settlements[0].report: is more than 524288 bytes");
  request.settlements.clear();
  request.known.resize(limits::kLeasesPerSession + 1);
  EXPECT_EQ(WhyNotSync(FormatSyncRequest(request)), "leases: has more than 64 elements");
}

TEST(SyncJson, AStatusLooksAsTheContractSays) {
  SyncRequest request;
  request.status = MachineStatus{"docker", true, {{{7}, 3, 2500, 1024}}};
  request.troubles = {{{9}, "no such image"}};
  EXPECT_NE(FormatSyncRequest(request).find(
                R"("status":{"engine":"docker","enforces":true,)"
                R"("jobs":[{"job":7,"running":3,"cpus":2.5,"memory":1024}]},)"
                R"("troubles":[{"job":9,"reason":"no such image"}],"leaving":false})"),
            std::string::npos)
      << FormatSyncRequest(request);
}

TEST(SyncJson, TooManyJobsOrTroublesAreRefused) {
  const std::string head =
      R"({"session":"00000000-0000-0001-0000-000000000002","free":{"cpus":1,"memory":0},)";
  const auto many = [](std::string_view one, std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) out.append(i == 0 ? "" : ",").append(one);
    return out;
  };
  const auto jobs = [&](std::size_t n) {
    return head + R"("status":{"jobs":[)" + many(R"({"job":1,"running":0})", n) + "]}}";
  };
  EXPECT_EQ(WhyNotSync(jobs(limits::kJobsPerStatus)), "");
  EXPECT_EQ(WhyNotSync(jobs(limits::kJobsPerStatus + 1)), "status.jobs: has more than 64 elements");
  const auto troubles = [&](std::size_t n, std::size_t bytes) {
    return head + R"("troubles":[)" +
           many(R"({"job":1,"reason":")" + std::string(bytes, 'x') + "\"}", n) + "]}";
  };
  EXPECT_EQ(WhyNotSync(troubles(limits::kTroublesPerSync, 500)), "");
  EXPECT_EQ(WhyNotSync(troubles(limits::kTroublesPerSync + 1, 1)),
            "troubles: has more than 16 elements");
  EXPECT_EQ(WhyNotSync(troubles(1, 501)), "troubles[0].reason: is longer than 500 bytes");
  EXPECT_EQ(WhyNotSync(troubles(1, 0)), "troubles[0].reason: must not be empty");
}

// Or one strange message of an engine would cost the whole sync.
TEST(SyncJson, AnyReasonOfATroubleIsMadeFit) {
  SyncRequest request;
  request.troubles = {
      {{1}, "two\nlines\x7f"},      {{2}, ""},         {{3}, std::string(499, 'x') + "\xc3\xbc"},
      {{4}, std::string(600, 'y')}, {{5}, "\xff\xfe"}, {{6}, std::string(400, '\xff')}};
  const auto back = ParseSyncRequest(FormatSyncRequest(request));
  ASSERT_TRUE(back) << back.error().reason;
  EXPECT_EQ(back->troubles[0].reason, "two lines ");
  EXPECT_EQ(back->troubles[1].reason, "no reason given");
  EXPECT_EQ(back->troubles[2].reason, std::string(499, 'x'));
  EXPECT_EQ(back->troubles[3].reason, std::string(500, 'y'));
  EXPECT_FALSE(back->troubles[4].reason.empty());
  EXPECT_LE(back->troubles[5].reason.size(), limits::kReasonBytes);
}

TEST(SyncJson, WhateverAnEngineIsCalledIsMadeFit) {
  SyncRequest request;
  request.status.emplace().engine = std::string(600, 'e') + "\n";
  const auto back = ParseSyncRequest(FormatSyncRequest(request));
  ASSERT_TRUE(back) << back.error().reason;
  EXPECT_EQ(back->status->engine, std::string(500, 'e'));
}

// Whatever an item says of itself, and as much as it likes.
TEST(SyncJson, ProgressIsMadeFit) {
  SyncRequest request;
  request.status = MachineStatus{"docker", true, {{{7}, 3, 2500, 1024}}};
  JobUse& use = request.status->jobs[0];
  use.progress.resize(limits::kProgressPerJob + 1);
  use.progress[0] = {1, 5000, std::string(300, 'x')};
  use.progress[1] = {2, -5, "a\nb\xff"};
  const auto back = ParseSyncRequest(FormatSyncRequest(request));
  ASSERT_TRUE(back) << back.error().reason;
  const auto& read = back->status->jobs[0].progress;
  ASSERT_EQ(read.size(), limits::kProgressPerJob);
  EXPECT_EQ(read[0], (ItemProgress{1, 1000, std::string(limits::kNoteBytes, 'x')}));
  EXPECT_EQ(read[1].permille, 0);
  EXPECT_TRUE(read[1].note.starts_with("a b"));
}

TEST(SyncJson, AnAgentOfBeforeIsUnderstood) {
  const auto read = ParseSyncRequest(Settling("failed", "\"3\""));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->free.devices, Devices());
  EXPECT_TRUE(read->settlements[1].final.None());
  EXPECT_TRUE(read->settlements[1].memory.None());
  EXPECT_TRUE(read->settlements[1].begun.None());
}

TEST(SyncJson, TheNewSetsAreNamedIfWrong) {
  for (const char* field : {"final", "memory", "begun"}) {
    EXPECT_NE(WhyNotSync(Settling(field, "\"2048\"")).find("settlements[1]." + std::string(field)),
              std::string::npos);
  }
}

// Of agents of before there is no more; those of after are not believed anything.
TEST(SyncJson, WhatWasMeasuredIsReadWithinBounds) {
  const auto measured = [](std::string_view fields) {
    return R"({"session":"00000000-0000-0001-0000-000000000002","free":{"cpus":1,"memory":0},)"
           R"("measured":[{"job":7,"items":2,"run_ms":3000)" +
           std::string(fields) + "}]}";
  };
  const auto before = ParseSyncRequest(measured(""));
  ASSERT_TRUE(before);
  EXPECT_EQ(before->measured[0].squares, 0);
  EXPECT_EQ(before->measured[0].lost_ms, 0);
  const auto read = ParseSyncRequest(measured(R"(,"squares":4.25,"lost_ms":17)"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->measured[0].squares, 4.25);
  EXPECT_EQ(read->measured[0].lost_ms, 17);
  EXPECT_EQ(WhyNotSync(measured(R"(,"squares":-1)")), "measured[0].squares: is out of bounds");
  EXPECT_EQ(WhyNotSync(measured(R"(,"squares":1e300)")), "measured[0].squares: is out of bounds");
  EXPECT_EQ(WhyNotSync(measured(R"(,"squares":"4")")), "measured[0].squares: must be a number");
  EXPECT_NE(WhyNotSync(measured(R"(,"lost_ms":-1)")).find("measured[0].lost_ms"),
            std::string::npos);
}

TEST(SyncJson, WhatIsWantedBackIsSaidOnlyIfThereIsSome) {
  SyncResult result;
  EXPECT_EQ(FormatSyncResult(result).find("back"), std::string::npos);
  result.back = {{7}, {8}};
  EXPECT_NE(FormatSyncResult(result).find(R"("back":[7,8])"), std::string::npos);
}

TEST(SyncJson, FieldsOfNewerVersionsArePassedOver) {
  EXPECT_TRUE(ParseSyncRequest(R"({"session":"00000000-0000-0001-0000-000000000002","mood":[1],)"
                               R"("free":{"cpus":0.5,"memory":0,"gpus":1}})"));
}

TEST(JoinJson, ComesBackAsItWent) {
  const JoinRequest request{
      {1, 2}, "i-0fe2 \"spot\"", "key", "", {1500, 1 << 30, {{"nvidia.com/gpu", 4}}}};
  const auto back = ParseJoinRequest(FormatJoinRequest(request));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->session, request.session);
  EXPECT_EQ(back->machine, request.machine);
  EXPECT_EQ(back->machine_key, request.machine_key);
  EXPECT_EQ(back->shape, request.shape);
  EXPECT_EQ(back->proof, std::nullopt);

  const Joined answer{{1, 2},
                      SessionState::kDraining,
                      milliseconds(10000),
                      milliseconds(60000),
                      "token",
                      {.no_capabilities = true, .firewall = true},
                      1 << 20,
                      "i-0fe2"};
  EXPECT_EQ(*ParseJoinAnswer(FormatJoinAnswer(answer)), answer);
}

TEST(JoinJson, AProofComesBackToTheByte) {
  JoinRequest request{{1, 2}, "i-0fe2", "key", "", {1000, 1 << 30}};
  request.proof = MachineProof{"aws", "{\n  \"region\" : \"eu-west-1\"\n}", "YWJj\nZGVm"};
  request.pool = "spot";
  request.project = "films";
  const std::string text = FormatJoinRequest(request);
  const auto back = ParseJoinRequest(text);
  ASSERT_TRUE(back) << back.error().reason;
  EXPECT_EQ(back->proof, request.proof);
  EXPECT_EQ(back->pool, "spot");
  EXPECT_EQ(back->project, "films");
  EXPECT_NE(text.find(R"("proof":{"provider":"aws","document":"{\n)"), std::string::npos) << text;
}

TEST(JoinJson, AProofThatIsTooLongIsRefused) {
  JoinRequest request{{1, 2}, "i-0fe2", "key", "", {1000, 1 << 30}};
  request.proof = MachineProof{"gcp", std::string(20'000, 'x'), ""};
  const auto read = ParseJoinRequest(FormatJoinRequest(request));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().reason, "proof.document: is too long");
}

TEST(JoinJson, AnotherVersionIsRefusedWithTheOneThatIsServed) {
  const auto read = ParseJoinRequest(R"({"version":2,"mystery":true})");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().reason, "version: 2 is not served here; this server serves 1");
}

TEST(WaitJson, ComesBackAsItWent) {
  EXPECT_TRUE(*ParseWaitAnswer(FormatWaitAnswer(true)));
  EXPECT_FALSE(*ParseWaitAnswer(FormatWaitAnswer(false)));
  EXPECT_FALSE(ParseWaitAnswer("{}"));
}

}  // namespace
}  // namespace tidemill
