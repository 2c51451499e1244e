// SPDX-License-Identifier: Apache-2.0
// The program of a loop, for tests: takes items and does with each what its "do" says, or else its
// "text".
//
//   usage: loop-probe [BATCH [WAIT_MS]]
//   LOOP_PROBE_DIES=N   exits with N before it asks for anything
//
//   ok          a result                  fail N    a result with exit N and an error
//   die N       exits with N              kill      kills itself with SIGKILL
//   hang        never comes back          deaf      the same, and heeds no SIGTERM
//   keep        no result, ever           print T   prints T, then a result
//   progress    says 0.5 and "half", then a result
//   leave       leaves a process and a file in the scratch folder, then a result
//   grow        takes memory until it is killed
//   give        a result that has one     much      the same, and it is too long
//   hold        as give, after the test has released it
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Item {
  std::string number;
  std::string what;
};

[[noreturn]] void Give(const char* what) {
  perror(what);
  exit(90);
}

// One connection that is kept, to http://127.0.0.1:PORT/TOKEN.
class Client {
 public:
  Client() {
    const char* url = getenv("TIDEMILL_URL");
    if (url == nullptr) Give("TIDEMILL_URL");
    const char* port = strrchr(url, ':') + 1;
    prefix_ = strchr(port, '/');
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<unsigned short>(atoi(port)));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      Give("connect");
    }
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }

  // The body of the answer.
  std::string Post(const std::string& target, const std::string& body) {
    const std::string request = "POST " + prefix_ + target + " HTTP/1.1\r\nHost: x\r\n" +
                                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                                body;
    if (write(socket_, request.data(), request.size()) != static_cast<ssize_t>(request.size())) {
      Give("write");
    }
    std::size_t head_end = 0;
    while ((head_end = bytes_.find("\r\n\r\n")) == std::string::npos) Receive();
    const std::string head = bytes_.substr(0, head_end);
    const std::size_t length_at = head.find("Content-Length: ");
    const std::size_t length =
        length_at == std::string::npos ? 0 : strtoul(head.c_str() + length_at + 16, nullptr, 10);
    while (bytes_.size() < head_end + 4 + length) Receive();
    const std::string answer = bytes_.substr(head_end + 4, length);
    bytes_.erase(0, head_end + 4 + length);
    if (head[9] != '2') {
      fprintf(stderr, "%s\n%s\n", head.c_str(), answer.c_str());
      exit(91);
    }
    return answer;
  }

 private:
  void Receive() {
    char bytes[65536];
    const ssize_t size = read(socket_, bytes, sizeof(bytes));
    if (size <= 0) Give("read");
    bytes_.append(bytes, static_cast<std::size_t>(size));
  }

  std::string prefix_;
  std::string bytes_;
  int socket_ = -1;
};

std::string Between(const std::string& text, const std::string& begin, const char* ends) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return "";
  const std::size_t from = at + begin.size();
  return text.substr(from, text.find_first_of(ends, from) - from);
}

// Items of tests hold no braces but their own.
std::vector<Item> ItemsOf(const std::string& answer) {
  std::vector<Item> items;
  std::size_t at = answer.find('[');
  while ((at = answer.find('{', at)) != std::string::npos) {
    const std::size_t end = answer.find('}', at);
    const std::string one = answer.substr(at, end - at + 1);
    std::string what = Between(one, "\"do\":\"", "\"");
    if (what.empty()) what = Between(one, "\"text\":\"", "\"");
    items.push_back({Between(one, "\"item\":", ",}"), what});
    at = end;
  }
  return items;
}

[[noreturn]] void Hang() {
  while (true) pause();
}

[[noreturn]] void Grow() {
  constexpr std::size_t kPiece = 4 << 20;
  while (true) {
    char* piece = static_cast<char*>(malloc(kPiece));
    if (piece != nullptr) memset(piece, 1, kPiece);
  }
}

void Leave() {
  const char* scratch = getenv("TIDEMILL_SCRATCH");
  FILE* file = fopen((std::string(scratch ? scratch : ".") + "/left").c_str(), "w");
  if (file != nullptr) fclose(file);
  if (fork() == 0) {
    setsid();
    Hang();
  }
}

// As HOLD of tests/e2e/held.py does.
void Hold(const std::string& number) {
  const char* scratch = getenv("TIDEMILL_SCRATCH");
  const char* job = getenv("TIDEMILL_JOB");
  const std::string folder = scratch ? scratch : ".";
  FILE* held = fopen((folder + "/held").c_str(), "w");
  if (held == nullptr) exit(1);
  fprintf(held, "%s %s\n", job ? job : "", number.c_str());
  fclose(held);
  while (access((folder + "/release").c_str(), F_OK) != 0) usleep(50'000);
  unlink((folder + "/held").c_str());
  unlink((folder + "/release").c_str());
}

// The result, or nothing.
std::string Do(Client& client, const Item& item) {
  const std::string& what = item.what;
  const std::string verb = what.substr(0, what.find(' '));
  const std::string rest = what.size() > verb.size() ? what.substr(verb.size() + 1) : "";
  if (verb == "die") exit(atoi(rest.c_str()));
  if (verb == "kill") kill(getpid(), SIGKILL);
  if (verb == "deaf") signal(SIGTERM, SIG_IGN);
  if (verb == "hang" || verb == "deaf") Hang();
  if (verb == "grow") Grow();
  if (verb == "keep") return "";
  if (verb == "print") {
    printf("%s\n", rest.c_str());
    fflush(stdout);
  }
  if (verb == "progress") {
    client.Post("/progress",
                "{\"item\":" + item.number + ",\"fraction\":0.5,\"note\":\"half\"}");
  }
  if (verb == "leave") Leave();
  if (verb == "hold") Hold(item.number);
  if (verb == "give" || verb == "hold") {
    return "{\"item\":" + item.number + ",\"result\":{\"number\":" + item.number + "}}";
  }
  if (verb == "much") {
    return "{\"item\":" + item.number + ",\"result\":\"" + std::string(4096, 'x') + "\"}";
  }
  if (verb != "fail") return "{\"item\":" + item.number + "}";
  return "{\"item\":" + item.number + ",\"exit\":" + rest + ",\"error\":\"it failed\"}";
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* dies = getenv("LOOP_PROBE_DIES")) {
    fprintf(stderr, "dies at once\n");
    return atoi(dies);
  }
  const std::string target = std::string("/next?max=") + (argc > 1 ? argv[1] : "1") +
                             "&wait=" + (argc > 2 ? argv[2] : "1000");
  Client client;
  std::string results;
  while (true) {
    const std::string answer =
        client.Post(target, results.empty() ? "" : "{\"results\":[" + results + "]}");
    results.clear();
    for (const Item& item : ItemsOf(answer)) {
      const std::string result = Do(client, item);
      if (!result.empty()) results += (results.empty() ? "" : ",") + result;
    }
    if (results.empty() && answer.find("\"done\":true") != std::string::npos) return 0;
  }
}
