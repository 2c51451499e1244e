// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/random.h"
#include "cloud/aws_query.h"
#include "cloud/google_tokens.h"
#include "cloud/kept.h"
#include "cloud/web.h"
#include "cloud/world.h"
#include "provider/roles.h"

namespace tidemill {

// Has AWS and Google hand out the keys of roles, as whoever this server is to them: AssumeRole of
// STS, generateAccessToken of IAM. All agents of a job share what it keeps, so a cloud is asked
// once in 45 minutes for each job and server. Loop thread only. Nothing survives a restart.
class CloudRoles : public RoleKeeper {
 public:
  // Loop and random outlive it.
  CloudRoles(AsioLoop& loop, Random& random, CloudWorld world);

  void Keys(const RoleAsk& ask, std::function<void(Result<RoleKeys>)> done) override;
  // How many are kept.
  std::size_t size() const { return kept_.size(); }

 private:
  using Given = Lasting<RoleKeys>;
  using Done = std::function<void(Result<Given>)>;
  struct One {
    std::unique_ptr<Kept<Given>> kept;
    std::int64_t used_ms = 0;
  };

  void ForgetUnused();
  void Fetch(const RoleAsk& ask, std::function<void(Result<Lasting<Given>>)> done);
  void AskAws(const RoleAsk& ask, Done done);
  void AskGoogle(const RoleAsk& ask, Done done);
  void SendToGoogle(const RoleAsk& ask, const std::string& token, Done done);

  // Constant after construction.
  AsioLoop& loop_;
  const CloudWorld world_;
  const std::string region_;
  // Loop thread only.
  AwsQuery aws_;
  GoogleTokens google_;
  Web web_;
  std::map<RoleAsk, One> kept_;
};

}  // namespace tidemill
