// SPDX-License-Identifier: Apache-2.0
#include "wire/spec_json.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "wire/duration.h"
#include "wire/item_field.h"
#include "wire/job_json.h"

namespace tidemill {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

std::string WhyNotSpec(std::string_view json) {
  const auto spec = ParseSpec(json);
  return spec ? "" : spec.error().reason;
}

TEST(SpecJson, EveryFieldIsRead) {
  const auto spec = ParseSpec(R"({
      "name": "render", "image": "a/b:3", "image_login": "reg.login", "entrypoint": ["/init", ""],
      "command": ["render", "{item}\n", "{params.q}", "${HOME}", "{}"],
      "env": {"A": "x", "_b1": 4, "C": 0.5, "D": true, "E": ""},
      "secrets": ["TOKEN", {"name": "db.pass", "env": "DB_PASS"}, {"name": "TOKEN", "file": "t-1"}],
      "params": {"q": 7, "a-b": "{item}"}, "labels": {"team/owner": "me"},
      "resources": {"cpus": 0.5, "memory": {"start": "4GiB", "max": "16GiB"}, "disk": 1000,
                    "shm": "64MiB", "devices": {"nvidia.com/gpu": 2}},
      "timeout": "1h30m", "grace": 2.5, "retries": 0, "mode": "container",
      "retry": {"on": [75, 1], "never": [2], "wait": "3s"}, "canary": 5,
      "queue": "night", "priority": -3, "deadline": "6h", "budget": "20.50", "max_parallel": 40,
      "after": ["render-7", 9]})");
  ASSERT_TRUE(spec) << spec.error().reason;
  EXPECT_EQ(spec->job.name, "render");
  EXPECT_EQ(spec->job.resources, (Resources{500, std::int64_t{4} << 30, {{"nvidia.com/gpu", 2}}}));
  EXPECT_EQ(spec->job.memory_max, std::int64_t{16} << 30);
  EXPECT_EQ(spec->job.retries, 0);
  EXPECT_EQ(spec->job.retry_wait, seconds(3));
  EXPECT_EQ(spec->job.canary, 5);
  EXPECT_EQ(spec->job.wishes, (JobWishes{.queue = "night",
                                         .priority = -3,
                                         .max_parallel = 40,
                                         .deadline = hours(6),
                                         .budget = Money{20'500'000},
                                         .labels = {{"team/owner", "me"}},
                                         .after = {{7}, {9}}}));
  EXPECT_EQ(spec->after, (std::vector<std::string>{"render-7", "9"}));
  RunSpec run;
  run.image = "a/b:3";
  run.image_login = "reg.login";
  run.entrypoint = {"/init", ""};
  run.command = {"render", "{item}\n", "{params.q}", "${HOME}", "{}"};
  run.env = {{"A", "x"}, {"_b1", "4"}, {"C", "0.5"}, {"D", "true"}, {"E", ""}};
  run.secrets = {{"TOKEN", "TOKEN", ""}, {"db.pass", "DB_PASS", ""}, {"TOKEN", "", "t-1"}};
  run.params = {{"q", "7"}, {"a-b", "{item}"}};
  run.disk_bytes = 1000;
  run.shm_bytes = 64 << 20;
  run.timeout = minutes(90);
  run.grace = milliseconds(2500);
  run.mode = Mode::kContainer;
  run.retry_on = {75, 1};
  run.retry_never = {2};
  EXPECT_EQ(spec->run, run);
}

TEST(SpecJson, WhatIsNotSaidHasADefault) {
  const auto spec = ParseSpec("{}");
  ASSERT_TRUE(spec);
  JobSpec job;
  job.retries = 3;
  job.document = "{}";
  EXPECT_EQ(spec->job, job);
  EXPECT_EQ(job.retry_wait, seconds(1));
  EXPECT_EQ(job.canary, 20);
  EXPECT_EQ(spec->run.mode, Mode::kProcess);
  EXPECT_EQ(spec->run, RunSpec());
  EXPECT_EQ(spec->run.grace, seconds(10));
}

TEST(SpecJson, TheDocumentReadsAsItself) {
  const auto spec = ParseSpec(R"({ "retries": 2, "command": ["a"] , "env": {"B": 1.50}})");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->job.document, R"({"command":["a"],"env":{"B":1.5},"retries":2})");
  const auto again = ParseSpec(spec->job.document);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->job, spec->job);
  EXPECT_EQ(again->run, spec->run);
}

TEST(SpecJson, AnUnknownFieldIsNamedWithTheNearest) {
  EXPECT_EQ(WhyNotSpec(R"({"comand":[]})"),
            "the body: unknown field 'comand'; did you mean 'command'?");
  EXPECT_EQ(WhyNotSpec(R"({"resources":{"memry":1}})"),
            "resources: unknown field 'memry'; did you mean 'memory'?");
  EXPECT_EQ(WhyNotSpec(R"({"zzzzzzzzzz":1})"),
            "the body: unknown field 'zzzzzzzzzz'; known are 'name' 'image' 'image_login' "
            "'command' 'entrypoint' "
            "'env' 'secrets' 'params' 'labels' 'resources' 'timeout' 'grace' 'retries' 'retry' "
            "'canary' 'mode' 'input' 'output' 'output_exists' 'skip' 'code' "
            "'workdir' 'paths' 'cache' 'checkpoint' 'queue' 'priority' 'deadline' 'budget' "
            "'max_parallel' 'after' 'mounts' 'role' 'notify'");
}

TEST(SpecJson, DataIsAUrlOrSeveralByName) {
  const auto run = ParseSpec(R"({"input":"{item}","output":"s3://out/{item.stem}.png"})")->run;
  EXPECT_EQ(run.inputs, (std::vector<DataInput>{{"", "{item}"}}));
  EXPECT_EQ(
      run.outputs,
      (std::vector<DataOutput>{{"", DataOutput::Kind::kFile, "s3://out/{item.stem}.png", ""}}));
  const auto named =
      ParseSpec(R"({"input":{"b":"gs://x/{index}","a":"file:///x/"},)"
                R"("output":{"all":"s3://out/{item}/","png":"s3://out/{item}/*.png"},)"
                R"("output_exists":"replace","skip":"existing"})")
          ->run;
  EXPECT_EQ(named.inputs, (std::vector<DataInput>{{"a", "file:///x/"}, {"b", "gs://x/{index}"}}));
  EXPECT_EQ(named.outputs, (std::vector<DataOutput>{
                               {"all", DataOutput::Kind::kFolder, "s3://out/{item}/", ""},
                               {"png", DataOutput::Kind::kGlob, "s3://out/{item}/", "*.png"}}));
  EXPECT_EQ(named.output_exists, OutputExists::kReplace);
  EXPECT_TRUE(named.skip_existing);
}

TEST(SpecJson, DataThatCannotBeIsRefused) {
  const std::string words = "may have {item}, {item.FIELD}, {index}, {job} and {params.NAME} only";
  EXPECT_EQ(WhyNotSpec(R"({"input":"s3://a/{attempt}"})"), "input: " + words);
  EXPECT_EQ(WhyNotSpec(R"({"output":{"x":"s3://a/{output}"}})"), "output.x: " + words);
  EXPECT_EQ(WhyNotSpec(R"({"input":"/data/{item}"})"),
            "input: must begin with s3://, gs:// or file:///, or be \"{item}\"");
  for (const char* url : {"{item}", "s3://{item}/a", "s3://bucket", "https://a/b", "a/b"}) {
    EXPECT_EQ(WhyNotSpec(std::string(R"({"output":")") + url + "\"}"),
              "output: must begin with s3://BUCKET/, gs://BUCKET/ or file:///");
  }
  EXPECT_EQ(WhyNotSpec(R"({"output":"s3://bucket/"})"),
            "output: must name something in its bucket");
  EXPECT_EQ(WhyNotSpec(R"({"skip":"existing"})"), "skip: there is no 'output'");
  EXPECT_EQ(WhyNotSpec(R"({"command":["a","{input}"]})"),
            "command[1]: '{input}': the spec has no 'input'");
  EXPECT_EQ(WhyNotSpec(R"({"command":["{output}"],"output":{"x":"s3://a/b"}})"),
            "command[0]: '{output}': the spec has no 'output' without a name");
}

TEST(SpecJson, CommandsAreListsOfStrings) {
  EXPECT_EQ(WhyNotSpec(R"({"command":"a \"b\""})"),
            R"(command: write a list: [sh, -c, "a \"b\""])");
  EXPECT_EQ(WhyNotSpec("{\"entrypoint\":\"" + std::string(61, 'x') + "\"}"),
            R"(entrypoint: write a list: [sh, -c, "..."])");
  EXPECT_EQ(WhyNotSpec(R"({"command":["sleep",5]})"),
            "command[1]: must be a string: put it in quotes");
  EXPECT_EQ(WhyNotSpec(R"({"command":["a",["b"]]})"), "command[1]: must be a string");
  EXPECT_EQ(WhyNotSpec(R"({"command":{}})"), "command: must be an array, not an object");
  EXPECT_EQ(WhyNotSpec(R"({"command":["a\u0000"]})"), "command[0]: must not have a NUL");
  EXPECT_EQ(WhyNotSpec(R"({"command":[]})"),
            "command: must not be empty; leave it away to run the image's own");
  EXPECT_EQ(WhyNotSpec(R"({"entrypoint":[]})"), "entrypoint: is empty, so there must be a command");
  EXPECT_EQ(WhyNotSpec(R"({"entrypoint":[],"command":["a"]})"), "");
  std::string many = "{\"command\":[\"\"";
  for (int i = 1; i < 1024; ++i) many += ",\"\"";
  EXPECT_EQ(WhyNotSpec(many + "]}"), "");
  EXPECT_EQ(WhyNotSpec(many + ",\"\"]}"), "command: has more than 1024 elements");
}

TEST(SpecJson, NamesAndTheirTextsAreBounded) {
  EXPECT_EQ(WhyNotSpec(R"({"env":{"A B":"x"}})"),
            "env: \"A B\" is no name here; they are letters, digits and '_', not beginning with a "
            "digit, at most 64 bytes");
  for (const char* name : {"", "1A", "A-B", "A=", "\xc3\xbc"}) {
    EXPECT_NE(WhyNotSpec("{\"env\":{\"" + std::string(name) + "\":\"x\"}}"), "") << name;
  }
  EXPECT_EQ(WhyNotSpec(R"({"env":{"Z":"","TIDEMILL_ITEM":"x"}})"),
            "env.TIDEMILL_ITEM: names with TIDEMILL_ are set by tidemill itself");
  EXPECT_EQ(WhyNotSpec(R"({"env":{"TIDEMILLX":"x"}})"), "");
  EXPECT_EQ(WhyNotSpec(R"({"env":{"A":null}})"),
            "env.A: must be a string, a number, true or false");
  EXPECT_EQ(WhyNotSpec(R"({"env":{"A":"\u0000"}})"), "env.A: must not have a NUL");
  EXPECT_EQ(WhyNotSpec(R"({"env":["A=1"]})"), "env: must be an object, not an array");
  EXPECT_EQ(WhyNotSpec(R"({"params":{"a.b":1}})"),
            "params: \"a.b\" is no name here; they are letters, digits, '_' and '-', at most 64 "
            "bytes");
  std::string many = "{\"env\":{\"A\":1";
  for (int i = 1; i < 256; ++i) many += ",\"A" + std::to_string(i) + "\":1";
  EXPECT_EQ(WhyNotSpec(many + "}}"), "");
  EXPECT_EQ(WhyNotSpec(many + ",\"B\":1}}"), "env: has more than 256 names");
}

std::string WhyNoSecrets(const std::string& list) {
  return WhyNotSpec("{\"secrets\":" + list + "}");
}

TEST(SpecJson, SecretsAreVariablesOrFiles) {
  EXPECT_EQ(WhyNoSecrets("[]"), "");
  EXPECT_EQ(WhyNoSecrets(R"({"A":"b"})"), "secrets: must be an array, not an object");
  EXPECT_EQ(WhyNoSecrets("[7]"), "secrets[0]: must be an object, not a number");
  EXPECT_EQ(WhyNoSecrets(R"(["A",{"name":"b","evn":"B"}])"),
            "secrets[1]: unknown field 'evn'; did you mean 'env'?");
  constexpr std::string_view kEither =
      "secrets[0]: say either 'env', the variable that holds it, or 'file', its file's name";
  EXPECT_EQ(WhyNoSecrets(R"([{"name":"b"}])"), kEither);
  EXPECT_EQ(WhyNoSecrets(R"([{"name":"b","env":"B","file":"b"}])"), kEither);
  EXPECT_EQ(WhyNoSecrets(R"([{"env":"B"}])"), "secrets[0].name: is missing");
}

TEST(SpecJson, SecretsHaveNamesThatFitWhereTheyAreUsed) {
  constexpr std::string_view kName =
      " must be letters, digits, '.', '_' and '-', at most 64, and begin with a letter or digit";
  for (const char* name : {"../x", ".hidden", "a/b", "a b"}) {
    const std::string quoted = "\"" + std::string(name) + "\"";
    EXPECT_EQ(WhyNoSecrets("[" + quoted + "]"), "secrets[0]:" + std::string(kName));
    EXPECT_EQ(WhyNoSecrets("[{\"name\":" + quoted + ",\"env\":\"A\"}]"),
              "secrets[0].name:" + std::string(kName));
    EXPECT_EQ(WhyNoSecrets("[{\"name\":\"a\",\"file\":" + quoted + "}]"),
              "secrets[0].file:" + std::string(kName));
  }
  EXPECT_EQ(WhyNoSecrets(R"(["db-password"])"),
            "secrets[0]: 'db-password' cannot be a variable; write {name: db-password, env: "
            "VARIABLE} or {name: db-password, file: FILE}");
  EXPECT_EQ(WhyNoSecrets(R"([{"name":"a","env":"A-B"}])"),
            "secrets[0].env: must be letters, digits and '_', at most 64, not beginning with a "
            "digit");
  EXPECT_NE(WhyNoSecrets("[\"" + std::string(65, 'A') + "\"]"), "");
  EXPECT_EQ(WhyNoSecrets("[\"" + std::string(64, 'A') + "\"]"), "");
}

TEST(SpecJson, NoTwoSecretsTakeTheSamePlace) {
  EXPECT_EQ(WhyNoSecrets(R"(["A",{"name":"b","env":"A"}])"),
            "secrets[1]: another secret has the variable 'A' already; give this one another");
  EXPECT_EQ(WhyNoSecrets(R"([{"name":"a","file":"x"},{"name":"b","file":"x"}])"),
            "secrets[1]: another secret has the file 'x' already; give this one another");
  EXPECT_EQ(WhyNoSecrets(R"([{"name":"a","file":"A"},{"name":"a","env":"A"}])"), "");
  EXPECT_EQ(WhyNotSpec(R"({"env":{"A":1},"secrets":["A"]})"),
            "secrets[0]: the variable 'A' is set by 'env' too; remove one of the two");
  EXPECT_EQ(WhyNoSecrets(R"([{"name":"a","env":"TIDEMILL_ITEM"}])"),
            "secrets[0]: names with TIDEMILL_ are set by tidemill itself; choose another 'env'");
  std::string many = "[\"A0\"";
  for (int i = 1; i < 16; ++i) many += ",\"A" + std::to_string(i) + "\"";
  EXPECT_EQ(WhyNoSecrets(many + "]"), "");
  EXPECT_EQ(WhyNoSecrets(many + ",\"B\"]"), "secrets: has more than 16 elements");
}

TEST(SpecJson, OtherFieldsAreBounded) {
  EXPECT_EQ(WhyNotSpec(R"({"image":""})"), "image: must not be empty");
  EXPECT_EQ(WhyNotSpec("{\"image\":\"" + std::string(513, 'x') + "\"}"),
            "image: is longer than 512 bytes");
  EXPECT_EQ(WhyNotSpec(R"({"image":"a","image_login":"my login"})"),
            "image_login: must be letters, digits, '.', '_' and '-', at most 64, and begin with a "
            "letter or digit");
  EXPECT_EQ(WhyNotSpec(R"({"image_login":"a"})"),
            "image_login: there is no 'image' that it could be for");
  EXPECT_EQ(WhyNotSpec(R"({"name":"a b"})"),
            "name: must be letters, digits, '.', '_' and '-', and begin with a letter or digit");
  EXPECT_EQ(WhyNotSpec(R"({"resources":{"shm":"64M"}})"),
            "resources.shm: must be a size such as \"4GiB\"");
  EXPECT_EQ(WhyNotSpec(R"({"resources":{"disk":-1}})"),
            "resources.disk: must be from 0 to 1152921504606846976");
  EXPECT_EQ(WhyNotSpec(R"({"resources":{"cpus":0.0001}})"),
            "resources.cpus: must be from 0.001 to 1000000");
  EXPECT_EQ(WhyNotSpec(R"({"retries":101})"), "retries: must be from 0 to 100");
  EXPECT_EQ(WhyNotSpec(R"({"mode":"fork"})"),
            "mode: must be \"process\", \"container\" or \"loop\"");
  EXPECT_EQ(WhyNotSpec("[]"), "the body: must be an object, not an array");
  EXPECT_EQ(WhyNotSpec("{\"x\":\"" + std::string(limits::kSpecBytes, 'x') + "\"}"),
            "the body: is more than 65536 bytes");
}

TEST(SpecJson, CodeIsAFolderOrABlob) {
  EXPECT_EQ(ParseSpec(R"({"code":"./src"})")->run.code, "./src");
  EXPECT_EQ(ParseSpec(R"({"workdir":"."})")->run.code, ".");
  EXPECT_EQ(ParseSpec("{}")->run.code, "");
  EXPECT_EQ(WhyNotSpec(R"({"code":"a","workdir":"b"})"),
            "workdir: means the same as code; only one of them can be there");
  EXPECT_EQ(WhyNotSpec(R"({"code":""})"), "code: must not be empty");
  // In a job that is made it is a blob.
  const std::string blob = "blob:" + std::string(64, 'a');
  EXPECT_TRUE(ParseNewJob("{\"name\":\"a\",\"spec\":{\"code\":\"" + blob + "\"}}"));
  for (const char* const code : {"./src", "blob:a", "s3://b/code.tar.zst"}) {
    const auto job =
        ParseNewJob("{\"name\":\"a\",\"spec\":{\"code\":\"" + std::string(code) + "\"}}");
    ASSERT_FALSE(job) << code;
    EXPECT_TRUE(job.error().reason.starts_with("spec.code: must be 'blob:'")) << job.error().reason;
  }
}

TEST(SpecJson, PathsAreMappedToUrlsOrPaths) {
  const auto spec = ParseSpec(R"({"paths":{"/mnt/nas":"s3://bucket/","/data":"/mnt/data"}})");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->paths.at("/mnt/nas"), "s3://bucket/");
  EXPECT_EQ(WhyNotSpec(R"({"paths":{"/a":"bucket"}})"),
            "paths./a: must be a URL, such as s3://bucket/, or an absolute path");
  EXPECT_EQ(WhyNotSpec(R"({"paths":{"/a":1}})"), "paths./a: must be a string");
  EXPECT_EQ(WhyNotSpec(R"({"paths":[]})"), "paths: must be an object, not an array");
}

TEST(SpecJson, TimesAreTextOrSeconds) {
  const auto timeout = [](std::string_view text) {
    const auto spec = ParseSpec("{\"timeout\":" + std::string(text) + "}");
    return spec ? spec->run.timeout : milliseconds(-1);
  };
  EXPECT_EQ(timeout("90"), seconds(90));
  EXPECT_EQ(timeout("0.001"), milliseconds(1));
  EXPECT_EQ(timeout("\"500ms\""), milliseconds(500));
  EXPECT_EQ(timeout("\"366d\""), hours(366 * 24));
  constexpr std::string_view kRange =
      "timeout: must be from 1 ms to 366 days; leave it away for none";
  for (const char* text : {"0", "-1", "\"0s\"", "1e300", "-1e300", "0.0001"}) {
    EXPECT_EQ(WhyNotSpec("{\"timeout\":" + std::string(text) + "}"), kRange) << text;
  }
  for (const char* text : {"\"90\"", "true", "null", "\"\"", "\"soon\"", "[]"}) {
    EXPECT_EQ(WhyNotSpec("{\"timeout\":" + std::string(text) + "}"),
              "timeout: must be a time such as \"30m\", \"1h30m\" or \"500ms\", or a number of "
              "seconds")
        << text;
  }
  EXPECT_EQ(WhyNotSpec(R"({"grace":0})"), "");
  EXPECT_EQ(WhyNotSpec(R"({"grace":"61m"})"), "grace: must be from 0 to 1 hour");
}

TEST(SpecJson, TemplatesMustStandForSomething) {
  EXPECT_EQ(WhyNotSpec(R"({"command":["a","{itme}"]})"),
            "command[1]: unknown template '{itme}'; did you mean 'item'? (for just these letters, "
            "write '{{itme}}')");
  EXPECT_EQ(WhyNotSpec(R"({"command":["awk","{print}"]})"),
            "command[1]: unknown template '{print}'; known are 'item' 'index' 'count' 'job' "
            "'attempt' 'params' 'input' 'output' (for just these letters, write '{{print}}')");
  EXPECT_EQ(WhyNotSpec(R"({"entrypoint":["{index.x}"]})"),
            "entrypoint[0]: unknown template '{index.x}'; 'index' has no fields");
  EXPECT_EQ(WhyNotSpec(R"({"env":{"A":"{params}"}})"),
            "env.A: unknown template '{params}'; write '{params.NAME}'");
  EXPECT_EQ(WhyNotSpec(R"({"env":{"A":"{params.qualty}"},"params":{"quality":1}})"),
            "env.A: '{params.qualty}': unknown param 'qualty'; did you mean 'quality'?");
  EXPECT_EQ(WhyNotSpec(R"({"env":{"A":"{params.q}"}})"),
            "env.A: '{params.q}': unknown param 'q'; there is none here");
  EXPECT_EQ(WhyNotSpec(R"({"command":["{item.any.field}","{{print}}","{print $1}","${x}"]})"), "");
}

TEST(SpecJson, ALoopProgramIsNotToldOfOneItem) {
  constexpr std::string_view kWhy =
      ": a loop program gets its items from $TIDEMILL_URL, not from templates";
  const auto why = [](const std::string& rest) {
    return WhyNotSpec(R"({"mode":"loop",)" + rest + "}");
  };
  EXPECT_EQ(why(R"("command":["a","{item}"])"), "command[1]" + std::string(kWhy));
  EXPECT_EQ(why(R"("entrypoint":["{item.stem}"])"), "entrypoint[0]" + std::string(kWhy));
  EXPECT_EQ(why(R"("env":{"A":"{index}"})"), "env.A" + std::string(kWhy));
  EXPECT_EQ(why(R"("env":{"A":"{attempt}"})"), "env.A" + std::string(kWhy));
  EXPECT_EQ(why(R"("command":["{job}","{count}","{params.q}","{{item}}"],"params":{"q":1})"), "");
  EXPECT_EQ(WhyNotSpec(R"({"mode":"container","command":["{item}"]})"), "");
}

TEST(SpecFault, SaysWhereAndWhat) {
  const auto show = [](std::string_view json) {
    const SpecFault fault = FaultOf(WhyNotSpec(json));
    return fault.path + " | " + fault.text;
  };
  EXPECT_EQ(show(R"({"resources":{"memry":1}})"),
            "resources.memry | unknown field 'memry' in resources; did you mean 'memory'?");
  EXPECT_EQ(show(R"({"comand":1})"), "comand | unknown field 'comand'; did you mean 'command'?");
  EXPECT_EQ(show(R"({"retries":-1})"), "retries | retries: must be from 0 to 100");
  EXPECT_EQ(show(R"({"command":["a: b",1]})"),
            "command[1] | command[1]: must be a string: put it in quotes");
  EXPECT_EQ(show("[]"), " | must be an object, not an array");
  EXPECT_EQ(show(R"({"a":1,"a":2})"), " | the field 'a' is there twice");
  EXPECT_TRUE(show("{").starts_with(" | not JSON: "));
}

TEST(Duration, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(ParseDuration("0s"), milliseconds(0));
  EXPECT_EQ(ParseDuration("90s"), seconds(90));
  EXPECT_EQ(ParseDuration("30m"), minutes(30));
  EXPECT_EQ(ParseDuration("1h30m"), minutes(90));
  EXPECT_EQ(ParseDuration("1d2h3m4s5ms"), hours(26) + minutes(3) + seconds(4) + milliseconds(5));
  EXPECT_EQ(ParseDuration("366d"), milliseconds(kMostDuration));
  for (const char* text :
       {"", "1", "s", "1x", "-1s", "+1s", " 1s", "1s ", "1 s", "1.5h", "30m1h", "1m1m", "366d1ms",
        "99999999999999999999s", "9223372036854775807d", "1h30", "1S"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
}

TEST(ItemField, IsFoundByItsPath) {
  const char* item = R"({"a":"x y","n":-1.5,"i":7,"t":true,"z":null,"o":{"p":{"q":[1, {"r":2}]}}})";
  EXPECT_EQ(*ItemField(item, "a"), "x y");
  EXPECT_EQ(*ItemField(item, "n"), "-1.5");
  EXPECT_EQ(*ItemField(item, "i"), "7");
  EXPECT_EQ(*ItemField(item, "t"), "true");
  EXPECT_EQ(*ItemField(item, "o.p.q"), R"([1,{"r":2}])");
  EXPECT_EQ(*ItemField(item, "o"), R"({"p":{"q":[1,{"r":2}]}})");
  for (const char* field : {"b", "z", "a.b", "o.x", "o.p.q.0", "", "o.", ".o"}) {
    const auto value = ItemField(item, field);
    ASSERT_FALSE(value) << field;
    EXPECT_EQ(value.error().code, Code::kNotFound) << field;
  }
  for (const char* other : {"", "[1]", "7", "{", "{\"a\":1} x"}) {
    const auto value = ItemField(other, "a");
    ASSERT_FALSE(value) << other;
    EXPECT_EQ(value.error().code, Code::kInvalid) << other;
  }
}

}  // namespace
}  // namespace tidemill
