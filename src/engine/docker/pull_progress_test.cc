// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/pull_progress.h"

#include <cstdint>
#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

void Add(PullProgress& progress, std::initializer_list<const char*> lines) {
  for (const char* line : lines) {
    const auto read = ParseDockerPullLine(line);
    ASSERT_TRUE(read) << line;
    progress.Add(*read);
  }
}

TEST(PullProgress, FollowsAPullFromItsFirstLineToItsLast) {
  PullProgress progress;
  EXPECT_EQ(progress.Text(), "pulling its image");
  Add(progress, {R"({"status":"Pulling from tools/sh","id":"latest"})"});
  EXPECT_EQ(progress.Text(), "pulling its image");
  Add(progress, {R"({"status":"Pulling fs layer","progressDetail":{},"id":"aa"})",
                 R"({"status":"Pulling fs layer","progressDetail":{},"id":"bb"})",
                 R"({"status":"Already exists","progressDetail":{},"id":"cc"})",
                 R"({"status":"Waiting","progressDetail":{},"id":"bb"})"});
  EXPECT_EQ(progress.Text(), "pulling its image");
  Add(progress, {R"({"status":"Downloading","progressDetail":{"current":20000000,)"
                 R"("total":100000000},"progress":"[=>  ]","id":"aa"})"});
  EXPECT_EQ(progress.Text(), "pulling its image: 20 of at least 100 MB");
  Add(progress, {R"({"status":"Downloading","progressDetail":{"current":100000000,)"
                 R"("total":250000000},"id":"bb"})"});
  EXPECT_EQ(progress.Text(), "pulling its image: 120 of 350 MB");
  Add(progress, {R"({"status":"Verifying Checksum","progressDetail":{},"id":"aa"})",
                 R"({"status":"Download complete","progressDetail":{},"id":"aa"})"});
  EXPECT_EQ(progress.Text(), "pulling its image: 200 of 350 MB");
  // The first is unpacked while the second comes.
  Add(progress, {R"({"status":"Extracting","progressDetail":{"current":50000000,)"
                 R"("total":100000000},"id":"aa"})"});
  EXPECT_EQ(progress.Text(), "pulling its image: 200 of 350 MB");
  Add(progress, {R"({"status":"Download complete","progressDetail":{},"id":"bb"})"});
  EXPECT_EQ(progress.Text(), "unpacking its image: 50 of 350 MB");
  Add(progress, {R"({"status":"Pull complete","progressDetail":{},"id":"aa"})"});
  EXPECT_EQ(progress.Text(), "unpacking its image: 100 of 350 MB");
  Add(progress, {R"({"status":"Pull complete","progressDetail":{},"id":"bb"})",
                 R"({"status":"Digest: sha256:0b"})",
                 R"({"status":"Status: Downloaded newer image for h:5000/tools/sh:latest"})"});
  EXPECT_EQ(progress.Text(), "unpacking its image: 350 of 350 MB");
}

TEST(PullProgress, DoesNotCountWhatWasHereBefore) {
  PullProgress progress;
  Add(progress,
      {R"({"status":"Pulling fs layer","id":"aa"})", R"({"status":"Already exists","id":"aa"})",
       R"({"status":"Downloading","progressDetail":{"current":1000000,)"
       R"("total":2000000},"id":"bb"})"});
  EXPECT_EQ(progress.Text(), "pulling its image: 1 of 2 MB");
}

TEST(PullProgress, SaysNoSizeWhereNoneIsTold) {
  PullProgress progress;
  Add(progress, {R"({"status":"Pulling fs layer","id":"aa"})",
                 R"({"status":"Downloading","progressDetail":{"current":3000000,"total":-1},)"
                 R"("id":"aa"})"});
  EXPECT_EQ(progress.Text(), "pulling its image: 3 of at least 3 MB");
  Add(progress,
      {R"({"status":"Pulling fs layer","id":"bb"})", R"({"status":"Download complete","id":"aa"})",
       R"({"status":"Download complete","id":"bb"})"});
  EXPECT_EQ(progress.Text(), "unpacking its image: 0 of 3 MB");
}

TEST(PullProgress, BeginsALayerAnewThatIsTriedAgain) {
  PullProgress progress;
  Add(progress, {R"({"status":"Downloading","progressDetail":{"current":8000000,)"
                 R"("total":9000000},"id":"aa"})",
                 R"({"status":"Retrying in 5 seconds","progressDetail":{},"id":"aa"})",
                 R"({"status":"Downloading","progressDetail":{"current":1000000,)"
                 R"("total":9000000},"id":"aa"})"});
  EXPECT_EQ(progress.Text(), "pulling its image: 1 of 9 MB");
}

TEST(PullProgress, StaysSmallAndWholeWhateverTheLinesSay) {
  PullProgress progress;
  DockerPullLine line{.status = "Downloading", .layer = "", .current = INT64_MAX, .total = 1};
  for (int i = 0; i < 10'000; ++i) {
    line.layer = std::to_string(i);
    line.total = i % 2 == 0 ? INT64_MAX : 0;
    progress.Add(line);
  }
  // 128 layers of 2^50 bytes, and no sum that has become negative.
  EXPECT_EQ(progress.Text(), "pulling its image: 144115188075 of at least 144115188075 MB");
  line.layer = std::string(1000, 'x');
  progress.Add(line);
  progress.Add({.status = "Extracting", .layer = "nobody knows it", .current = 5, .total = 3});
  EXPECT_EQ(progress.Text(), "pulling its image: 144115188075 of at least 144115188075 MB");
}

}  // namespace
}  // namespace tidemill
