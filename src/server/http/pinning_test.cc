// SPDX-License-Identifier: Apache-2.0
#include "server/http/pinning.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

ImageQuestion Of(const std::string& image) {
  return QuestionOf(R"({"name":"a","image":")" + image + "\"}");
}

TEST(Pinning, ATagIsAskedFor) {
  const ImageQuestion question = Of("registry.example:5000/a/b:3");
  EXPECT_EQ(question.digest, "");
  EXPECT_EQ(question.name, (ImageName{"registry.example:5000/a/b", "3"}));
  EXPECT_EQ(question.login, "");
  EXPECT_EQ(Of("busybox").name, (ImageName{"busybox", "latest"}));
}

TEST(Pinning, ADigestIsNot) {
  const std::string digest = "sha256:" + std::string(64, '0');
  for (const char* before : {"a@", "a:3@", "registry.example/a@"}) {
    EXPECT_EQ(Of(before + digest).digest, digest);
    EXPECT_EQ(Of(before + digest).name->tag, digest) << "only for what else is to be known of it";
  }
}

TEST(Pinning, NorIsWhatCannotBeAsked) {
  for (const char* image : {"a@sha256:12", "a@sha512:12", "a@latest", "a b", "/a", "a//b"}) {
    EXPECT_EQ(Of(image).digest, "") << image;
    EXPECT_FALSE(Of(image).name) << image;
  }
  EXPECT_FALSE(QuestionOf(R"({"name":"a"})").name);
  EXPECT_FALSE(QuestionOf("{").name);
}

TEST(Pinning, WhoeverSubmitsIsToldWhatHelps) {
  EXPECT_EQ(NoteOf({Code::kForbidden, "r is not one that this server may ask"}), "");
  EXPECT_EQ(NoteOf({Code::kNobody, "r wants a login"}),
            "r wants a login; image_login names the secret that holds one");
  EXPECT_EQ(NoteOf({Code::kNotFound, "r has no such image"}),
            "r has no such image, as far as it tells this server");
  EXPECT_NE(NoteOf({Code::kUnavailable, "r is away"}).find("r is away; the first machine"),
            std::string::npos);
}

}  // namespace
}  // namespace tidemill
