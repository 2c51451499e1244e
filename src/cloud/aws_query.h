// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "cloud/world.h"
#include "cloud/xml.h"
#include "net/asio_loop.h"
#include "net/http.h"

namespace tidemill {

// A call of one of AWS's services of the older kind, whose parameters are a form.
struct AwsAction {
  std::string service = {};  // "autoscaling", "ec2" or "sts"
  std::string region = {};
  std::string name = {};   // "DescribeInstances"
  HttpFields params = {};  // {"Filter.1.Name", "tag:a"}, decoded
};

struct AwsQueryLimits {
  int tries = 5;
  // Before the second try, with a random part; each further wait is twice as long.
  Duration first_wait = std::chrono::milliseconds(500);
  Duration longest_wait = std::chrono::seconds(8);
  // For a call with all its tries. Whoever leads asks again by then.
  Duration whole = std::chrono::seconds(40);
  // A part of what an account may do by default, since others call too.
  double calls_a_second = 10;
  double burst = 40;
  // A page has some hundred entries: more pages are more machines than anybody has.
  int pages = 100;
};

// Signed calls of AWS's services. What may pass (no answer, throttling) is tried again, so a call
// must be idempotent, by what it says or by its ClientToken. All calls share one bucket, so that
// none is made in a tight loop, whoever asks. Loop thread only. Nothing survives a restart.
class AwsQuery {
 public:
  using Done = std::function<void(Result<XmlElement>)>;
  using PagesDone = std::function<void(Result<std::vector<XmlElement>>)>;

  // Loop and random outlive it.
  AwsQuery(AsioLoop& loop, Random& random, CloudWorld world, AwsQueryLimits limits = {});
  // Drops the calls under way: their `done` does not come.
  ~AwsQuery();

  // Gives the root of the answer. Calls `done` once, never from inside Call. Otherwise, with a
  // reason that begins with AWS's own code if it gave one, see IsAwsError:
  //   kNobody       there are no credentials
  //   kForbidden    AWS does not let these credentials do it
  //   kNotFound     what it names is not there
  //   kConflict     it is there already, or is being changed
  //   kExhausted    a quota of the account is reached
  //   kInvalid      anything else that AWS refuses, and an endpoint or region that is wrong
  //   kUnavailable  no answer, or throttled, also after the last try
  //   kUnknown      the same, and it may have been done
  void Call(AwsAction action, Done done);
  // All pages of a list, each as Call gives one. kExhausted: there are too many.
  void Pages(AwsAction action, PagesDone done);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// Whether that is AWS's code for it: "ValidationError", "InvalidInstanceID.NotFound".
bool IsAwsError(const Error& error, std::string_view code);

// What an answer says, or the error that it is.
Result<XmlElement> ReadAwsAnswer(const Result<HttpResponse>& got);
// The word for the next page in an answer; empty: it is the last.
std::string NextAwsPage(const AwsAction& action, const XmlElement& page);

}  // namespace tidemill
