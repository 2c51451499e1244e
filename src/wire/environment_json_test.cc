// SPDX-License-Identifier: Apache-2.0
#include "wire/environment_json.h"

#include <string>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

std::string WhyNotEnvironment(const std::string& fields) {
  const auto read = ParseEnvironment("{" + fields + "}");
  return read ? "" : read.error().reason;
}

TEST(EnvironmentJson, MostMayBeLeftAway) {
  const auto read = ParseEnvironment(R"({"name":"films","from":"requirements.txt"})");
  ASSERT_TRUE(read);
  EXPECT_EQ(
      *read,
      (Environment{.name = "films", .from = "requirements.txt", .base = "cpu", .python = "3.11"}));
  const auto all = ParseEnvironment(
      R"({"name":"host:5000/a/films","from":"env/Pipfile","base":"debian:12","python":"3.9",)"
      R"("apt":["ffmpeg","g++"],"code":false})");
  ASSERT_TRUE(all);
  EXPECT_EQ(*all,
            (Environment{
                "host:5000/a/films", "env/Pipfile", "debian:12", "3.9", {"ffmpeg", "g++"}, false}));
  EXPECT_EQ(ParseEnvironment(FormatEnvironment(*all)), *all);
}

TEST(EnvironmentJson, WhatIsWrongIsNamed) {
  const std::string rest = R"(,"from":"requirements.txt")";
  for (const char* name : {"films:3", "Films", "a b", "films@x"}) {
    EXPECT_EQ(WhyNotEnvironment(R"("name":")" + std::string(name) + "\"" + rest),
              "name: must be an image's name in small letters, without a tag: films");
  }
  const std::string name = R"("name":"films",)";
  EXPECT_EQ(
      WhyNotEnvironment(name + R"("from":"setup.py")"),
      "from: must be environment.yml, requirements.txt, pyproject.toml, Pipfile or Dockerfile");
  for (const char* from : {"/requirements.txt", "../requirements.txt", "a/../requirements.txt",
                           "a b/requirements.txt", "requirements'.txt"}) {
    EXPECT_EQ(WhyNotEnvironment(name + "\"from\":\"" + from + "\""),
              "from: must be a file in this folder, of plain letters");
  }
  EXPECT_EQ(WhyNotEnvironment(R"("name":"films","python":3.11)" + rest),
            "python: must be a version in quotes, such as \"3.11\"");
  EXPECT_EQ(WhyNotEnvironment(R"("name":"films","apt":["a b"])" + rest),
            "apt: must be packages such as ffmpeg or ffmpeg=7:5.1");
  EXPECT_EQ(WhyNotEnvironment(R"("name":"films","base":"A B")" + rest),
            "base: must be cpu, gpu, or the name of an image");
  EXPECT_NE(WhyNotEnvironment(R"("name":"films","pip":[])" + rest).find("pip"), std::string::npos);
}

TEST(CondaFileJson, PackagesOfBothKindsAreRead) {
  const auto read = ParseCondaFile(
      R"({"name":"x","prefix":"/home/x","channels":["conda-forge","nodefaults"],)"
      R"("dependencies":["python=3.11",{"pip":["greet>=1","-r more.txt"]},"numpy"]})");
  ASSERT_TRUE(read) << read.error().reason;
  EXPECT_EQ(*read, (CondaFile{{"conda-forge", "nodefaults"},
                              {"python=3.11", "numpy"},
                              {"greet>=1", "-r more.txt"}}));
  EXPECT_EQ(FormatCondaFile(*read),
            R"({"channels":["conda-forge","nodefaults"],"dependencies":["python=3.11","numpy"],)"
            R"("pip":["greet>=1","-r more.txt"]})");
  EXPECT_EQ(ParseCondaFile("{}"), CondaFile());
}

TEST(CondaFileJson, WhatIsWrongIsNamed) {
  const auto why_not = [](const char* text) {
    const auto read = ParseCondaFile(text);
    return read ? "" : read.error().reason;
  };
  const std::string must = ": must be a package such as numpy=1.26, or a list pip:";
  EXPECT_EQ(why_not(R"({"dependencies":["numpy",3.11]})"), "dependencies[1]" + must);
  EXPECT_EQ(why_not(R"({"dependencies":["a\nb"]})"), "dependencies[0]" + must);
  EXPECT_EQ(why_not(R"({"dependencies":[{"pip":["a\n-i x"]}]})"),
            "dependencies[0].pip: must be packages such as numpy>=1.26");
  EXPECT_NE(why_not(R"({"dependencies":[{"npm":["x"]}]})").find("npm"), std::string::npos);
  EXPECT_NE(why_not(R"({"variables":{"A":"1"}})").find("variables"), std::string::npos);
  EXPECT_EQ(why_not(R"({"channels":[""]})"), "channels: must be channels such as conda-forge");
}

}  // namespace
}  // namespace tidemill
