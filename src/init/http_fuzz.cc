// SPDX-License-Identifier: Apache-2.0
// No bytes break the reader; what it took lies within them; the rest of a request changes nothing.
// sources: init/http.cc init/bodies.cc frame/json.cc frame/text.cc
#include <cstdlib>

#include "init/bodies.h"
#include "init/http.h"

namespace tidemill::init {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void FuzzOne(std::string_view input) {
  const HttpRead read = ReadHttp(input);
  if (read.state == HttpRead::State::kWhole) {
    Require(read.bytes <= input.size() && read.request.path.starts_with('/'));
    Require(read.request.body.size() <= kHttpBodyBytes);
    const HttpRead alone = ReadHttp(input.substr(0, read.bytes));
    Require(alone.state == HttpRead::State::kWhole && alone.bytes == read.bytes);
    Require(alone.request.body == read.request.body);
    QueryNumber(read.request.query, "max", 1);
  }
  if (read.state == HttpRead::State::kRefused) Require(read.status >= 400);
  ReadResults(input);
  const auto progress = ReadProgress(input);
  if (progress) Require(progress->permille >= 0 && progress->permille <= 1000);
}

}  // namespace
}  // namespace tidemill::init

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tidemill::init::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
