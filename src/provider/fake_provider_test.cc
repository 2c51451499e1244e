// SPDX-License-Identifier: Apache-2.0
#include "provider/fake_provider.h"

#include "base/random.h"
#include "base/virtual_loop.h"
#include "provider/provider_contract.h"

namespace tidemill {
namespace {

using std::chrono::seconds;

class FakeWorld : public ProviderWorld {
 public:
  Provider& provider() override { return fake; }
  void RunUntil(const std::function<bool()>& is_true) override {
    for (int i = 0; i < 1'000'000 && !is_true(); ++i) loop.Step();
    ASSERT_TRUE(is_true());
  }
  void Pass(Duration time) override {
    bool over = false;
    loop.After(time, [&over] { over = true; });
    while (!over) loop.Step();
  }
  TimePoint Now() const override { return loop.Now(); }
  void SetCapacity(PoolSettings&, std::int64_t machines) override {
    fake.play().capacity = machines;
  }
  void Kill(const PoolSettings& pool, const std::string& name) override { fake.Kill(pool, name); }
  void Restart() override {}  // a cloud does not die with whoever calls it

  SeededRandom random{1};
  VirtualLoop loop{random};
  FakeProvider fake{loop, [this] { return loop.Now(); }};
};

INSTANTIATE_TEST_SUITE_P(Fake, ProviderTest, testing::Values(ProviderMaker([] {
                           return std::make_unique<FakeWorld>();
                         })));

class FakeProviderTest : public ::testing::Test {
 protected:
  FakeProviderTest() {
    pool_.pool.project = "films";
    pool_.pool.name = "spot";
    play_.on_up = [this](const PoolSettings&, const MachineOrder& order) {
      up_.push_back(order.name + " " + order.join_token);
    };
    play_.on_over = [this](const std::string& pool, const std::string& name) {
      over_.push_back(pool + " " + name);
    };
  }
  Refused Make(std::vector<MachineOrder> orders) {
    Refused refused;
    fake_.Make(pool_, std::move(orders), [&](Result<Refused> given) { refused = *given; });
    world_.Pass(seconds(1));
    return refused;
  }
  std::vector<ListedAt> List() {
    std::vector<ListedAt> listed;
    fake_.List(pool_, [&](auto given) { listed = *given; });
    world_.Pass(std::chrono::milliseconds(20));
    return listed;
  }

  FakeWorld world_;
  FakeProvider& fake_ = world_.fake;
  FakeProvider::Play& play_ = fake_.play();
  PoolSettings pool_;
  std::vector<std::string> up_;
  std::vector<std::string> over_;
};

TEST_F(FakeProviderTest, MachinesComeUpWithTheirTokensUnlessTheyNeverDo) {
  play_.never_up = {"b"};
  Make({{"a", "token a"}, {"b", "token b"}});
  world_.Pass(seconds(5));
  EXPECT_EQ(up_, Names{"a token a"});
  EXPECT_EQ(List().size(), 2U);
}

TEST_F(FakeProviderTest, OneThatEndedBeforeItWasUpDoesNotComeUp) {
  play_.booting = seconds(10);
  Make({{"a", ""}});
  fake_.Kill(pool_, "a");
  fake_.Kill(pool_, "a");
  world_.Pass(seconds(20));
  EXPECT_TRUE(up_.empty());
  EXPECT_EQ(over_, Names{"spot a"});
  EXPECT_EQ(fake_.bill().size(), 1U);
}

TEST_F(FakeProviderTest, AQuotaIsSaidAsANumber) {
  play_.quota = 1;
  const Refused refused = Make({{"a", ""}, {"b", ""}});
  EXPECT_EQ(refused.names, Names{"b"});
  EXPECT_EQ(refused.quota, 1);
  play_.quota.reset();
  play_.capacity = 1;
  EXPECT_EQ(Make({{"b", ""}}).quota, std::nullopt);
}

TEST_F(FakeProviderTest, ListsMayBeLate) {
  play_.listing_late = seconds(30);
  Make({{"a", ""}});
  EXPECT_TRUE(List().empty());
  world_.Pass(seconds(30));
  ASSERT_EQ(List().size(), 1U);
  fake_.Kill(pool_, "a");
  EXPECT_FALSE(List()[0].ended);
  world_.Pass(seconds(30));
  EXPECT_TRUE(List()[0].ended);
}

TEST_F(FakeProviderTest, CallsMayFail) {
  play_.error = Error{Code::kUnavailable, "the cloud is away"};
  int failed = 0;
  fake_.Make(pool_, {{"a", ""}}, [&](const Result<Refused>& given) { failed += given ? 0 : 1; });
  fake_.End(pool_, {"a"}, [&](const Result<void>& given) { failed += given ? 0 : 1; });
  fake_.List(pool_, [&](const auto& given) { failed += given ? 0 : 1; });
  world_.Pass(seconds(1));
  EXPECT_EQ(failed, 3);
  EXPECT_EQ(fake_.there(), 0);
}

}  // namespace
}  // namespace tidemill
