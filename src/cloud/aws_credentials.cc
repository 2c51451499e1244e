// SPDX-License-Identifier: Apache-2.0
#include "cloud/aws_credentials.h"

#include <array>
#include <utility>

#include "cloud/imds.h"
#include "wire/cloud_json.h"

namespace tidemill {
namespace {

// One search through all places, of which each is a step.
struct Search {
  std::size_t step = 0;
  std::string looked_at = {};
  bool no_answer = false;
  std::function<void(Result<Lasting<AwsKeys>>)> done;
};

}  // namespace

struct AwsCredentials::Impl {
  Impl(AsioLoop& loop, CloudWorld a_world)
      : world(std::move(a_world)),
        web(loop, {.tls = world.tls}),
        kept(loop, world.now_ms, [this](auto done) {
          auto search = std::make_shared<Search>();
          search->done = std::move(done);
          Next(search);
        }) {}

  void Next(const std::shared_ptr<Search>& search);
  void OnLook(const std::shared_ptr<Search>& search, Result<AwsLook> look);

  void SendToSts(Result<AwsKeyCall> call, const std::string& action, AwsLooked looked);
  void AskSts(AwsLooked looked);
  void AskProfile(AwsLooked looked);
  // The keys by which a profile takes on its role.
  void AskSource(const AwsProfile& profile, AwsLooked looked);
  void AskContainer(AwsLooked looked);
  void AskMetadata(AwsLooked looked);

  const CloudWorld world;
  Web web;
  Kept<AwsKeys> kept;
};

void AwsCredentials::Impl::Next(const std::shared_ptr<Search>& search) {
  const AwsLooked looked = [this, search](Result<AwsLook> look) {
    OnLook(search, std::move(look));
  };
  switch (search->step++) {
    case 0:
      return looked(LookInEnvironment(world));
    case 1:
      return AskSts(looked);
    case 2:
      return AskProfile(looked);
    case 3:
      return AskContainer(looked);
    case 4:
      return AskMetadata(looked);
    default:
      const Code code = search->no_answer ? Code::kUnavailable : Code::kNobody;
      search->done(Fail(code, "no credentials for AWS; looked at " + search->looked_at));
  }
}

void AwsCredentials::Impl::OnLook(const std::shared_ptr<Search>& search, Result<AwsLook> look) {
  if (!look) return search->done(While("credentials for AWS", look.error()));
  if (look->keys) return search->done(*std::move(look->keys));
  search->looked_at.append(search->looked_at.empty() ? "" : ", ").append(look->missing);
  search->no_answer = search->no_answer || look->no_answer;
  Next(search);
}

void AwsCredentials::Impl::AskSts(AwsLooked looked) {
  auto call = WebIdentityCall(world);
  if (!call) return looked(tl::unexpected<Error>(call.error()));
  if (!*call) {
    return looked(AwsLook{.missing = "a web identity (AWS_WEB_IDENTITY_TOKEN_FILE is not set)"});
  }
  SendToSts(*std::move(*call), kAssumeRoleWithWebIdentity, std::move(looked));
}

void AwsCredentials::Impl::SendToSts(Result<AwsKeyCall> call, const std::string& action,
                                     AwsLooked looked) {
  if (!call) return looked(tl::unexpected<Error>(call.error()));
  web.Send(call->url.origin, std::move(call->call), {},
           [action, looked = std::move(looked)](const Result<HttpResponse>& got) {
             if (!got) return looked(While("STS", got.error()));
             auto keys = ParseStsAnswer(*got, action);
             if (!keys) return looked(tl::unexpected<Error>(keys.error()));
             looked(AwsLook{.keys = *std::move(keys)});
           });
}

void AwsCredentials::Impl::AskProfile(AwsLooked looked) {
  const auto profile = LoadAwsProfile(world);
  if (!profile) return looked(tl::unexpected<Error>(profile.error()));
  if (profile->Setting("role_arn").empty()) return looked(LookInProfile(world, *profile));
  AskSource(*profile, [this, profile = *profile, looked](const Result<AwsLook>& source) {
    if (!source) return looked(source);
    if (!source->keys) {
      return looked(Fail(
          source->no_answer ? Code::kUnavailable : Code::kInvalid,
          "profile '" + profile.name + "' takes on a role with the keys of " + source->missing));
    }
    SendToSts(RoleCall(world, profile, source->keys->value), kAssumeRole, looked);
  });
}

void AwsCredentials::Impl::AskSource(const AwsProfile& profile, AwsLooked looked) {
  const std::string name = profile.Setting("source_profile");
  const std::string kind = profile.Setting("credential_source");
  if (!name.empty()) {
    const auto source = LoadAwsProfile(world, name);
    if (!source) return looked(tl::unexpected<Error>(source.error()));
    return looked(LookInProfile(world, *source));
  }
  if (kind == "Environment") return looked(LookInEnvironment(world));
  if (kind == "EcsContainer") return AskContainer(std::move(looked));
  if (kind == "Ec2InstanceMetadata") return AskMetadata(std::move(looked));
  looked(Fail(Code::kInvalid, "profile '" + profile.name +
                                  "' has role_arn, but no source_profile and no credential_source "
                                  "that is known"));
}

void AwsCredentials::Impl::AskContainer(AwsLooked looked) {
  auto call = ContainerCall(world);
  if (!call) return looked(tl::unexpected<Error>(call.error()));
  if (!*call) {
    return looked(AwsLook{.missing =
                              "a container's endpoint (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and "
                              "AWS_CONTAINER_CREDENTIALS_FULL_URI are not set)"});
  }
  web.Send((*call)->url.origin, std::move((*call)->call), {},
           [looked = std::move(looked)](Result<HttpResponse> got) {
             const std::string place = "the container's endpoint";
             if (!got) return looked(While(place, got.error()));
             if (got->status != 200) {
               return looked(Fail(got->status >= 500 ? Code::kUnavailable : Code::kForbidden,
                                  place + " answers " + std::to_string(got->status)));
             }
             auto keys = ParseAwsKeys(got->body);
             if (!keys) return looked(While(place, keys.error()));
             looked(AwsLook{.keys = Lasting<AwsKeys>{{keys->id, keys->secret, keys->token},
                                                     keys->expires_ms}});
           });
}

void AwsCredentials::Impl::AskMetadata(AwsLooked looked) {
  const auto origin = MetadataOrigin(world);
  if (!origin) return looked(tl::unexpected<Error>(origin.error()));
  if (!*origin) {
    return looked(AwsLook{.missing = "the instance metadata (AWS_EC2_METADATA_DISABLED is set)"});
  }
  LookInMetadata(web, **origin, std::move(looked));
}

AwsCredentials::AwsCredentials(AsioLoop& loop, CloudWorld world)
    : impl_(std::make_unique<Impl>(loop, std::move(world))) {}
AwsCredentials::~AwsCredentials() = default;

void AwsCredentials::Get(Done done) { impl_->kept.Get(std::move(done)); }

}  // namespace tidemill
