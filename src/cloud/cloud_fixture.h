// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of cloud: a server that plays a cloud's, a clock that a test sets, a folder.

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cloud/world.h"
#include "net/asio_loop.h"
#include "net/http_server.h"
#include "net/loop_testing.h"

namespace tidemill {

class CloudFixture : public ::testing::Test {
 protected:
  using Play = std::function<HttpResponse(const HttpRequest&)>;

  CloudFixture()
      : server_(loop_, {}, [this](const HttpRequest& request, const HttpRespond& respond) {
          seen_.push_back(request.method + " " + request.path);
          respond(play_ ? play_(request) : HttpResponse{.status = 404});
        }) {
    world_.now_ms = [this] { return now_ms_; };
    std::string name = (std::filesystem::temp_directory_path() / "tidemill-cloud-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    world_.environment = {{"HOME", folder_.string()}, {"AWS_EC2_METADATA_DISABLED", "true"}};
    EXPECT_TRUE(server_.Start());
  }
  ~CloudFixture() override { std::filesystem::remove_all(folder_); }

  std::string Host() const { return "127.0.0.1:" + std::to_string(server_.port()); }
  std::string Url() const { return "http://" + Host(); }

  std::string Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

  // Runs the loop until the call that `start` begins has its answer.
  template <typename T>
  Result<T> Await(const std::function<void(std::function<void(Result<T>)>)>& start) {
    std::optional<Result<T>> got;
    start([&got](Result<T> result) { got = std::move(result); });
    EXPECT_FALSE(got) << "called from inside";
    RunUntil([&got] { return got.has_value(); });
    return got ? *std::move(got) : Fail(Code::kInternal, "no answer");
  }
  void RunUntil(const std::function<bool()>& is_true) { RunLoopUntil(loop_, is_true); }
  void RunWhatIsReady() { tidemill::RunWhatIsReady(loop_); }

  AsioLoop loop_;
  std::int64_t now_ms_ = 1'777'000'000'000;  // 2026-04-24T03:06:40Z
  CloudWorld world_;
  std::filesystem::path folder_;
  Play play_;
  std::vector<std::string> seen_;  // what the server was asked
  HttpServer server_;
};

inline std::string HeaderOf(const HttpRequest& request, std::string_view name) {
  const std::string* value = FindField(request.headers, name);
  return value == nullptr ? "" : *value;
}

}  // namespace tidemill
