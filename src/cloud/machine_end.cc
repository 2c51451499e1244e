// SPDX-License-Identifier: Apache-2.0
#include "cloud/machine_end.h"

#include <utility>

#include "cloud/aws_query.h"
#include "cloud/google_api.h"
#include "cloud/google_tokens.h"
#include "cloud/web.h"
#include "wire/cloud_json.h"

namespace tidemill {
namespace {

constexpr std::chrono::seconds kEndTimeout{20};

class AwsMachineEnd : public MachineEnd {
 public:
  AwsMachineEnd(AsioLoop& loop, Random& random, const CloudWorld& world, MachinePlace place)
      : query_(loop, random, world), place_(std::move(place)) {}

  void End(std::function<void(Result<void>)> done) override {
    query_.Call({.service = "autoscaling",
                 .region = place_.region,
                 .name = "TerminateInstanceInAutoScalingGroup",
                 .params = {{"InstanceId", place_.id}, {"ShouldDecrementDesiredCapacity", "true"}}},
                [done = std::move(done)](const Result<XmlElement>& answer) {
                  if (!answer) return done(tl::unexpected<Error>(answer.error()));
                  done({});
                });
  }

 private:
  AwsQuery query_;
  const MachinePlace place_;
};

class GceMachineEnd : public MachineEnd {
 public:
  GceMachineEnd(AsioLoop& loop, const CloudWorld& world, MachineSelf self)
      : root_(GoogleApiRoot(world, kGoogleCompute)),
        self_(std::move(self)),
        tokens_(loop, world),
        web_(loop, {.tls = world.tls}) {}

  void End(std::function<void(Result<void>)> done) override {
    tokens_.Get([this, done = std::move(done)](const Result<std::string>& token) {
      if (!token) return done(tl::unexpected<Error>(token.error()));
      Delete(*token, done);
    });
  }

 private:
  void Delete(const std::string& token, const std::function<void(Result<void>)>& done) {
    if (self_.group.empty()) return done(Fail(Code::kNotFound, "no group has made this machine"));
    if (!root_) return done(tl::unexpected<Error>(root_.error()));
    HttpCall call{.method = "POST",
                  .target = root_->target + "/" + self_.group + "/deleteInstances",
                  .content_type = "application/json",
                  .body = FormatDeleteInstances("zones/" + self_.place.zone + "/instances/" +
                                                self_.place.name),
                  .timeout = kEndTimeout};
    call.headers.emplace_back("Authorization", "Bearer " + token);
    web_.Send(root_->origin, std::move(call), {}, [done](const Result<HttpResponse>& got) {
      if (!got) return done(tl::unexpected<Error>(got.error()));
      if (got->status == 200) return done({});
      done(Fail(got->status >= 500 ? Code::kUnavailable : Code::kForbidden,
                "Google answers " + std::to_string(got->status) + ", " + GoogleMessage(got->body)));
    });
  }

  const Result<WebUrl> root_;
  const MachineSelf self_;
  GoogleTokens tokens_;
  Web web_;
};

}  // namespace

std::unique_ptr<MachineEnd> EndByGroup(AsioLoop& loop, Random& random, const CloudWorld& world,
                                       const MachineSelf& self) {
  if (self.place.provider == "aws") {
    return std::make_unique<AwsMachineEnd>(loop, random, world, self.place);
  }
  return std::make_unique<GceMachineEnd>(loop, world, self);
}

}  // namespace tidemill
