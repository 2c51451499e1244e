// SPDX-License-Identifier: Apache-2.0
#include "objects/open.h"

#include "cloud/cloud_fixture.h"
#include "net/thread_pool.h"

namespace tidemill {
namespace {

class ObjectStoresTest : public CloudFixture {
 protected:
  ThreadPool pool_{loop_, 1};
  SeededRandom random_{1};
};

TEST_F(ObjectStoresTest, KeepsOneStoreForEachBucket) {
  ObjectStores stores({loop_, pool_, random_, world_});
  const auto one = stores.Find("s3://bucket/a/b");
  ASSERT_TRUE(one) << one.error().reason;
  EXPECT_EQ(one->key, "a/b");
  EXPECT_EQ(stores.Find("s3://bucket/c")->store, one->store);
  EXPECT_NE(stores.Find("s3://other/c")->store, one->store);
  EXPECT_NE(stores.Find("gs://bucket/c")->store, one->store);
  EXPECT_FALSE(stores.Find("ftp://bucket/c"));
}

TEST_F(ObjectStoresTest, ReadsAFileByItsPath) {
  ObjectStores stores({loop_, pool_, random_, world_});
  const auto place = stores.Find("file://" + Write("x/y z.txt", "hello"));
  ASSERT_TRUE(place) << place.error().reason;
  std::string text;
  const auto got = Await<ObjectInfo>([&](auto done) {
    place->store->Get(
        place->key, {},
        [&text](std::string_view piece) -> Result<void> {
          text += piece;
          return {};
        },
        done);
  });
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_EQ(text, "hello");
  const auto list =
      Await<ListPage>([&](auto done) { place->store->List({.prefix = place->key}, done); });
  ASSERT_TRUE(list) << list.error().reason;
  ASSERT_EQ(list->objects.size(), 1u);
  EXPECT_EQ(list->objects[0].key, place->key);
}

TEST_F(ObjectStoresTest, SaysWhatIsWrongWithAnEndpoint) {
  world_.environment["AWS_ENDPOINT_URL_S3"] = "not a url";
  ObjectStores stores({loop_, pool_, random_, world_});
  const auto place = stores.Find("s3://bucket/a");
  ASSERT_FALSE(place);
  EXPECT_NE(place.error().reason.find("endpoint of S3"), std::string::npos) << place.error().reason;
}

}  // namespace
}  // namespace tidemill
