// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "arrivals/arrival_queue.h"

// What is said to SQS and to Pub/Sub, and what they answer. Pure.
namespace tidemill {

struct SqsAsk {
  std::string queue_url = {};
  int most = 0;
  int wait_s = 0;    // at the queue
  int hidden_s = 0;  // for so long nobody else gets them
};
std::string FormatSqsReceive(const SqsAsk& ask);
// kInvalid: it is no answer of SQS.
Result<std::vector<ArrivalMessage>> ParseSqsMessages(std::string_view body);
std::string FormatSqsDelete(const std::string& queue_url, const std::vector<std::string>& handles);
// What was not taken away.
Result<std::size_t> ParseSqsFailed(std::string_view body);

std::string FormatPull(int most);
// Messages of Cloud Storage: what has arrived stands in their attributes.
Result<std::vector<ArrivalMessage>> ParsePulled(std::string_view body);
std::string FormatAcknowledge(const std::vector<std::string>& handles);

}  // namespace tidemill
