// SPDX-License-Identifier: Apache-2.0
#include "model/places.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(Places, AreBelowTheUrlWithOrWithoutItsSlash) {
  Job job;
  job.id = {7};
  job.spec.name = "render";
  job.project = "films";
  EXPECT_EQ(JobPlace("s3://bucket", job), "s3://bucket/jobs/films/render-7/");
  EXPECT_EQ(JobPlace("s3://bucket/a/", job), "s3://bucket/a/jobs/films/render-7/");
  job.uid = "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(JobPlace("s3://bucket", job),
            "s3://bucket/jobs/films/render-7.0123456789abcdef0123456789abcdef/");
  EXPECT_EQ(BlobPlace("file:///a", "films", "12ab"), "file:///a/blobs/films/12ab");
}

}  // namespace
}  // namespace tidemill
