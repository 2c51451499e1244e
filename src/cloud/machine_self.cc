// SPDX-License-Identifier: Apache-2.0
#include "cloud/machine_self.h"

#include <algorithm>
#include <utility>

#include "cloud/world.h"
#include "net/http.h"

namespace tidemill {
namespace {

constexpr char kEc2Tags[] = "meta-data/tags/instance/";
constexpr char kGceAttributes[] = "instance/attributes/";
constexpr char kDocument[] = "dynamic/instance-identity/document";
constexpr char kSignature[] = "dynamic/instance-identity/signature";
// Longer than any name of a cloud is.
constexpr std::size_t kTextBytes = 256;

struct Getting {
  Metadata& metadata;
  std::vector<std::string> paths;
  std::function<void(Result<MetadataValues>)> done;
  MetadataValues values = {};
};

void GetNext(const std::shared_ptr<Getting>& getting) {
  if (getting->paths.empty()) return getting->done(std::move(getting->values));
  const std::string path = getting->paths.back();
  getting->paths.pop_back();
  getting->metadata.Get(path, [getting, path](Result<std::optional<MetadataValue>> got) {
    if (!got) return getting->done(tl::unexpected<Error>(got.error()));
    if (*got) getting->values[path] = std::move((*got)->text);
    GetNext(getting);
  });
}

// What is printable of one line, or nothing.
std::string TextAt(const MetadataValues& values, const std::string& path) {
  const auto found = values.find(path);
  if (found == values.end()) return {};
  const std::string_view text = Trim(found->second);
  const bool is_plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
  return is_plain && text.size() <= kTextBytes ? std::string(text) : "";
}

// "projects/1/zones/us-central1-a" is "us-central1-a".
std::string LastPart(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void ReadWritten(const MetadataValues& values, const std::string& below, MachineSelf& self) {
  self.server = TextAt(values, below + "tidemill-server");
  self.project = TextAt(values, below + "tidemill-project");
  self.pool = TextAt(values, below + "tidemill-pool");
}

std::vector<std::string> PathsOf(const std::string& cloud) {
  const bool is_aws = cloud == "aws";
  const std::string below = is_aws ? kEc2Tags : kGceAttributes;
  std::vector<std::string> paths = {below + "tidemill-server", below + "tidemill-project",
                                    below + "tidemill-pool"};
  const std::vector<std::string> own =
      is_aws
          ? std::vector<std::string>{"meta-data/instance-id", "meta-data/instance-type",
                                     "meta-data/placement/availability-zone",
                                     "meta-data/placement/region", "meta-data/instance-life-cycle"}
          : std::vector<std::string>{"instance/id",
                                     "instance/name",
                                     "instance/machine-type",
                                     "instance/zone",
                                     "instance/scheduling/preemptible",
                                     below + "created-by"};
  paths.insert(paths.end(), own.begin(), own.end());
  return paths;
}

}  // namespace

void GetAll(Metadata& metadata, std::vector<std::string> paths,
            std::function<void(Result<MetadataValues>)> done) {
  GetNext(std::make_shared<Getting>(Getting{metadata, std::move(paths), std::move(done)}));
}

Result<MachineSelf> ReadEc2Self(const MetadataValues& values) {
  MachineSelf self;
  self.place = {.provider = "aws",
                .id = TextAt(values, "meta-data/instance-id"),
                .type = TextAt(values, "meta-data/instance-type"),
                .zone = TextAt(values, "meta-data/placement/availability-zone"),
                .region = TextAt(values, "meta-data/placement/region"),
                .spot = TextAt(values, "meta-data/instance-life-cycle") == "spot"};
  if (!self.place.id.starts_with("i-") || self.place.region.empty()) {
    return Fail(Code::kUnavailable, "the instance metadata has no id and region of a machine");
  }
  ReadWritten(values, kEc2Tags, self);
  return self;
}

Result<MachineSelf> ReadGceSelf(const MetadataValues& values) {
  MachineSelf self;
  self.place = {.provider = "gcp",
                .id = TextAt(values, "instance/id"),
                .name = TextAt(values, "instance/name"),
                .type = LastPart(TextAt(values, "instance/machine-type")),
                .zone = LastPart(TextAt(values, "instance/zone")),
                .spot = TextAt(values, "instance/scheduling/preemptible") == "TRUE"};
  const std::size_t dash = self.place.zone.rfind('-');
  if (self.place.id.empty() || self.place.name.empty() || dash == std::string::npos) {
    return Fail(Code::kUnavailable, "the metadata server has no id, name and zone of a machine");
  }
  self.place.region = self.place.zone.substr(0, dash);
  self.group = TextAt(values, std::string(kGceAttributes) + "created-by");
  ReadWritten(values, kGceAttributes, self);
  return self;
}

void FindSelf(const std::string& cloud, Metadata& metadata,
              std::function<void(Result<MachineSelf>)> done) {
  GetAll(metadata, PathsOf(cloud),
         [is_aws = cloud == "aws", done = std::move(done)](const Result<MetadataValues>& values) {
           if (!values) return done(tl::unexpected<Error>(values.error()));
           done(is_aws ? ReadEc2Self(*values) : ReadGceSelf(*values));
         });
}

void FetchProof(const std::string& cloud, Metadata& metadata, const std::string& audience,
                std::function<void(Result<MachineProof>)> done) {
  const bool is_aws = cloud == "aws";
  const std::string token =
      "instance/service-accounts/default/identity?audience=" + PercentEncode(audience) +
      "&format=full";
  std::vector<std::string> paths = {token};
  if (is_aws) paths = {kSignature, kDocument};
  GetAll(metadata, std::move(paths),
         [is_aws, token, done = std::move(done)](Result<MetadataValues> values) {
           if (!values) return done(tl::unexpected<Error>(values.error()));
           MachineProof proof{is_aws ? "aws" : "gcp", (*values)[is_aws ? kDocument : token], ""};
           if (is_aws) proof.signature = (*values)[kSignature];
           if (!is_aws) proof.document = Trim(proof.document);
           if (proof.document.empty() || (is_aws && proof.signature.empty())) {
             return done(Fail(Code::kUnavailable,
                              "its cloud gives the machine no proof; a machine "
                              "of Google's needs a service account for one"));
           }
           done(std::move(proof));
         });
}

}  // namespace tidemill
