// SPDX-License-Identifier: Apache-2.0
#include "cloud/metadata.h"

#include "cloud/cloud_fixture.h"
#include "cloud/machine_self.h"

namespace tidemill {
namespace {

class MetadataTest : public CloudFixture {
 protected:
  using Value = std::optional<MetadataValue>;

  // Plays EC2's service, which answers only those who show the last token that it gave out.
  void BeEc2() {
    world_.environment.erase("AWS_EC2_METADATA_DISABLED");
    world_.environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = Url();
    play_ = [this](const HttpRequest& request) -> HttpResponse {
      if (request.path == "/latest/api/token") {
        const bool is_right = request.method == "PUT" &&
                              HeaderOf(request, "X-aws-ec2-metadata-token-ttl-seconds") == "21600";
        if (!is_right) return {.status = 400};
        return {.body = "token" + std::to_string(++tokens_)};
      }
      if (HeaderOf(request, "X-aws-ec2-metadata-token") != "token" + std::to_string(tokens_)) {
        return {.status = 401};
      }
      return Answer(request, "/latest/");
    };
    metadata_ = *OpenMetadata("aws", loop_, world_);
  }

  // Plays Google's.
  void BeGce() {
    world_.environment["GCE_METADATA_HOST"] = Host();
    play_ = [this](const HttpRequest& request) -> HttpResponse {
      if (HeaderOf(request, "Metadata-Flavor") != "Google") return {.status = 403};
      HttpResponse answer = Answer(request, "/computeMetadata/v1/");
      answer.headers = {{"ETag", "e1"}};
      if (is_google_) answer.headers.emplace_back("Metadata-Flavor", "Google");
      return answer;
    };
    metadata_ = *OpenMetadata("gcp", loop_, world_);
  }

  HttpResponse Answer(const HttpRequest& request, const std::string& below) const {
    std::string path = request.path;
    for (const auto& [name, value] : request.query) path += "|" + name + "=" + value;
    const auto found = values_.find(path.substr(below.size()));
    if (found == values_.end()) return {.status = 404};
    return {.body = found->second};
  }

  Result<Value> Get(const std::string& path) {
    return Await<Value>([&](auto done) { metadata_->Get(path, done); });
  }

  std::unique_ptr<Metadata> metadata_;
  MetadataValues values_;
  int tokens_ = 0;
  bool is_google_ = true;
};

TEST_F(MetadataTest, OfEc2AsksForATokenOnceAndKeepsIt) {
  BeEc2();
  values_["meta-data/instance-id"] = "i-0fe2";
  EXPECT_EQ((*Get("meta-data/instance-id"))->text, "i-0fe2");
  EXPECT_EQ(*Get("meta-data/spot/instance-action"), std::nullopt);
  EXPECT_EQ(tokens_, 1);
  // Anew when it will be over soon, and only then.
  now_ms_ += std::int64_t{3600} * 1000;
  EXPECT_TRUE(Get("meta-data/instance-id"));
  EXPECT_EQ(tokens_, 1);
  now_ms_ += std::int64_t{5 * 3600 + 1} * 1000;
  EXPECT_TRUE(Get("meta-data/instance-id"));
  EXPECT_EQ(tokens_, 2);
}

TEST_F(MetadataTest, OfEc2AsksForAnotherTokenWhenItsOwnWasForgotten) {
  BeEc2();
  values_["meta-data/instance-id"] = "i-0fe2";
  EXPECT_TRUE(Get("meta-data/instance-id"));
  ++tokens_;
  EXPECT_TRUE(Get("meta-data/instance-id"));
  EXPECT_EQ(tokens_, 3);
}

TEST_F(MetadataTest, OfEc2ThatTakesNoTokenIsAskedTwiceAndNoMore) {
  BeEc2();
  play_ = [this](const HttpRequest& request) -> HttpResponse {
    if (request.method == "PUT") return {.body = "token" + std::to_string(++tokens_)};
    return {.status = 401};
  };
  EXPECT_EQ(Get("meta-data/instance-id").error().code, Code::kForbidden);
  EXPECT_EQ(tokens_, 2);
}

TEST_F(MetadataTest, IsNotAskedWhereItIsSwitchedOff) {
  EXPECT_EQ(OpenMetadata("aws", loop_, world_).error().code, Code::kInvalid);
  world_.environment["GCE_METADATA_HOST"] = "example.com";
  EXPECT_EQ(OpenMetadata("gcp", loop_, world_).error().code, Code::kInvalid);
  EXPECT_EQ(OpenMetadata("azure", loop_, world_).error().code, Code::kInvalid);
  EXPECT_TRUE(seen_.empty());
}

TEST_F(MetadataTest, OfGoogleIsBelievedOnlyWithItsHeader) {
  BeGce();
  values_["instance/preempted"] = "FALSE";
  const auto got = Get("instance/preempted");
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_EQ((*got)->text, "FALSE");
  EXPECT_EQ((*got)->etag, "e1");
  is_google_ = false;
  EXPECT_EQ(Get("instance/preempted").error().code, Code::kUnavailable);
}

TEST_F(MetadataTest, TellsAMachineOfEc2WhichItIs) {
  BeEc2();
  values_ = {{"meta-data/instance-id", "i-0fe2"},
             {"meta-data/instance-type", "c7i.4xlarge"},
             {"meta-data/placement/availability-zone", "eu-west-1a"},
             {"meta-data/placement/region", "eu-west-1"},
             {"meta-data/instance-life-cycle", "spot"},
             {"meta-data/tags/instance/tidemill-pool", "fast"},
             {"meta-data/tags/instance/tidemill-project", "films"},
             {"meta-data/tags/instance/tidemill-server", "https://batch.example"}};
  const auto self = Await<MachineSelf>([&](auto done) { FindSelf("aws", *metadata_, done); });
  ASSERT_TRUE(self) << self.error().reason;
  EXPECT_EQ(self->place, (MachinePlace{.provider = "aws",
                                       .id = "i-0fe2",
                                       .type = "c7i.4xlarge",
                                       .zone = "eu-west-1a",
                                       .region = "eu-west-1",
                                       .spot = true}));
  EXPECT_EQ(self->pool, "fast");
  EXPECT_EQ(self->project, "films");
  EXPECT_EQ(self->server, "https://batch.example");
}

TEST_F(MetadataTest, TellsAMachineOfGoogleWhichItIs) {
  BeGce();
  values_ = {{"instance/id", "4711"},
             {"instance/name", "mill-x1"},
             {"instance/machine-type", "projects/1/machineTypes/n2-standard-4"},
             {"instance/zone", "projects/1/zones/us-central1-b"},
             {"instance/scheduling/preemptible", "TRUE"},
             {"instance/attributes/created-by", "projects/1/zones/us-central1-b/groups/g"},
             {"instance/attributes/tidemill-pool", "fast"}};
  const auto self = Await<MachineSelf>([&](auto done) { FindSelf("gcp", *metadata_, done); });
  ASSERT_TRUE(self) << self.error().reason;
  EXPECT_EQ(self->place, (MachinePlace{.provider = "gcp",
                                       .id = "4711",
                                       .name = "mill-x1",
                                       .type = "n2-standard-4",
                                       .zone = "us-central1-b",
                                       .region = "us-central1",
                                       .spot = true}));
  EXPECT_EQ(self->pool, "fast");
  EXPECT_EQ(self->group, "projects/1/zones/us-central1-b/groups/g");
}

TEST_F(MetadataTest, OfSomethingElseIsNoMachine) {
  const MetadataValues page = {{"meta-data/instance-id", "<html>log in</html>"},
                               {"instance/id", "<html>\nlog in"}};
  EXPECT_EQ(ReadEc2Self(page).error().code, Code::kUnavailable);
  EXPECT_EQ(ReadGceSelf(page).error().code, Code::kUnavailable);
  EXPECT_EQ(ReadEc2Self({}).error().code, Code::kUnavailable);
  EXPECT_EQ(ReadGceSelf({}).error().code, Code::kUnavailable);
}

TEST_F(MetadataTest, GivesTheProofOfEc2ToTheByte) {
  BeEc2();
  values_ = {{"dynamic/instance-identity/document", "{\n  \"region\" : \"eu-west-1\"\n}"},
             {"dynamic/instance-identity/signature", "YWJj\nZGVm"}};
  const auto fetch = [&](auto done) { FetchProof("aws", *metadata_, "https://b", done); };
  EXPECT_EQ(*Await<MachineProof>(fetch),
            (MachineProof{"aws", "{\n  \"region\" : \"eu-west-1\"\n}", "YWJj\nZGVm"}));
  values_.erase("dynamic/instance-identity/signature");
  EXPECT_EQ(Await<MachineProof>(fetch).error().code, Code::kUnavailable);
}

TEST_F(MetadataTest, GivesTheProofOfGoogleForOneServer) {
  BeGce();
  values_["instance/service-accounts/default/identity|audience=https://batch.example|format=full"] =
      "a.b.c\n";
  const auto fetch = [&](const std::string& server) {
    return Await<MachineProof>([&](auto done) { FetchProof("gcp", *metadata_, server, done); });
  };
  EXPECT_EQ(*fetch("https://batch.example"), (MachineProof{"gcp", "a.b.c", ""}));
  EXPECT_EQ(fetch("https://other.example").error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace tidemill
