// SPDX-License-Identifier: Apache-2.0
/// The texts that the parser refuses: CL-3, check by check.
#include "tf_config_texts.h"

namespace shoal::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TfConfig, Check01_NothingIsLocalMode) {
  for (const char* text : {"", " ", " \t\r\n "}) {
    const TaskConfig task = parsed(text);
    expect_local(task);
    EXPECT_EQ(task.source, ConfigSource::kLocal);
  }
}

TEST(TfConfig, Check02_OnlyOneStrictJsonObject) {
  const struct {
    std::string text;
    const char* where;
  } cases[] = {
      {"[]", "top level"},
      {"1", "top level"},
      {"\"text\"", "top level"},
      {"null", "top level"},
      {"true", "top level"},
      {"{", "byte 1:"},
      {"{\"cluster\"", "byte 10:"},
      {"{} x", "byte 3:"},
      {"{}{}", "byte 2:"},
      {"{}}", "byte 2:"},
      {"{\"a\": 1,}", "byte 8:"},
      {"{'a': 1}", "byte 1:"},
      {"{a: 1}", "byte 1:"},
      {"{\"a\": 01}", "byte 7:"},
      {"{\"a\": NaN}", "byte 6:"},
      {"{\"a\": 1 /* why */}", "byte 8:"},
      {"{\"a\": \"\xFF\"}", "byte 7:"},          // A byte that is no UTF-8.
      {"{\"a\": \"\xC0\x80\"}", "byte 7:"},      // An overlong encoding.
      {"{\"a\": \"\xED\xA0\x80\"}", "byte 8:"},  // A surrogate in UTF-8.
      {"{\"a\": \"\\ud800\"}", "byte 13:"},      // A lone high surrogate.
      {"{\"a\": \"\\udc00\"}", "byte 12:"},      // A lone low surrogate.
      {"{\"a\": \"\\ud800\\ud800\"}", "byte 18:"},
      {"{\"a\": \"\n\"}", "byte 7:"},
      {"\xEF\xBB\xBF{}", "byte-order mark"},
      {std::string("{}\0garbage", 10), "byte 2:"},
      {std::string("{}\0", 3), "byte 2:"},
      {"\x0B{}", "byte 0:"},
      {"not json at all", "byte 1:"},
  };
  for (const auto& c : cases) expect_invalid(c.text, {"not a JSON object", c.where});
}

TEST(TfConfig, Check03_ModelDirAndService) {
  EXPECT_EQ(parsed(R"({"model_dir": "m"})").model_dir, "m");
  EXPECT_EQ(parsed(R"({"model_dir": null})").model_dir, std::nullopt);
  EXPECT_EQ(parsed(R"({})").model_dir, std::nullopt);
  expect_invalid(R"({"model_dir": ""})", {"model_dir", "empty string"});
  expect_invalid(R"({"model_dir": "gs://bucket/m"})", {"model_dir", "gs://bucket/m"});
  expect_invalid(R"({"model_dir": "~/m"})", {"model_dir", "$HOME/m"});
  expect_mismatch(R"({"model_dir": 3})", {"model_dir", "string"});
  expect_refused(R"({"model_dir": "a"})", ErrorKind::kInvalidArgument, {"model_dir", "\"a\"", "\"b\""}, {.model_dir = "b"});
  EXPECT_TRUE(parse_tf_config(R"({"model_dir": "a"})", {.model_dir = "a"}));
  EXPECT_TRUE(parse_tf_config("{}", {.model_dir = "a"}));

  EXPECT_EQ(parsed(R"({"service": null})").service, std::nullopt);
  EXPECT_EQ(parsed(R"({"service": {"a": 1}, "service": null, "model_dir": "m"})").service, std::nullopt);
  EXPECT_EQ(parsed(R"({"service": {"a": {}}, "x": [1, {"y": 2}]})").service, R"({"a":{}})");
  EXPECT_EQ(parsed(R"({"service": {"b": [1, 2.5, "x"], "a": {}}})").service, R"({"b":[1,2.5,"x"],"a":{}})");
  EXPECT_EQ(
      parsed(R"({"service": {"a": 1}, "service": { "\u00fc\"" : [ ] , "x" : [ -1.5e3 , true,null, {} , [ [ ] ,"" ] ] } })")
          .service,
      "{\"\u00fc\\\"\":[],\"x\":[-1.5e3,true,null,{},[[],\"\"]]}");
  for (const char* value : {"1", "\"x\"", "[]", "true"}) {
    expect_mismatch(std::string(R"({"service": )") + value + "}", {"service", "object"});
  }
}

TEST(TfConfig, Check04_ClusterMapsRolesToAddresses) {
  for (const char* value : {"1", "\"x\"", "[]", "true", "null"}) {
    expect_mismatch(std::string(R"({"cluster": )") + value + "}", {"cluster", "object"});
  }
  for (const char* value : {"1", "\"h:1\"", "true", "null"}) {
    expect_mismatch(with_chief(std::string(R"("worker": )") + value), {"\"worker\""});
  }
  for (const char* value : {"1", "null", "true", "[]", "{}"}) {
    expect_mismatch(with_chief(std::string(R"("worker": ["h:2", )") + value + "]"), {"\"worker\"", "index 1"});
    expect_mismatch(with_chief(std::string(R"("worker": {"7": )") + value + "}"), {"\"worker\"", "index 7"});
  }
  for (const char* address : {"h", "h:", ":1", "h:x", "h:65536", "h h:1", "h\\u0001:1", "", "::1:5", "[::1]"}) {
    expect_invalid(with_chief(std::string(R"("worker": ["h:2", ")") + address + "\"]"),
                   {"\"worker\"", "index 1", "is not host:port"});
  }
  for (const char* index : {"", "x", "-1", "1.0", " 1", "+1", "0x1"}) {
    expect_invalid(with_chief(std::string(R"("worker": {")") + index + R"(": "h:2"})"), {"\"worker\"", "decimal integer"});
  }
  expect_invalid(with_chief(R"("worker": {"2147483648": "h:2"})"), {"\"worker\"", "int32"});
  expect_invalid(with_chief(R"("worker": {"99999999999999999999": "h:2"})"), {"\"worker\"", "int32"});
  expect_invalid(with_chief(R"("worker": {"1": "h:2", "01": "h:3"})"), {"\"worker\"", "index 1", "twice"});
}

TEST(TfConfig, Check05_TaskIsAnObject) {
  for (const char* value : {"1", "\"x\"", "[]", "true", "null"}) {
    expect_mismatch(example(value), {"task", "object"});
  }
}

TEST(TfConfig, Check06_AnEvaluatorInsideTheClusterIsDropped) {
  const TaskConfig task =
      parsed(with_chief(R"("evaluator": ["e:1"], "worker": ["w:1"])", R"({"type": "worker", "index": 0})"));
  EXPECT_THAT(task.warnings, ElementsAre(HasSubstr("evaluator")));
  EXPECT_EQ(task.global_id, 1);  // The number is 1, not 2.
  EXPECT_FALSE(task.cluster.has_role("evaluator"));
  const TaskConfig evaluator = parsed(with_chief(R"("evaluator": ["e:1"])", R"({"type": "evaluator", "index": 0})"));
  EXPECT_EQ(evaluator.mode, TaskMode::kEvaluator);
  // The evaluator's addresses are checked (4) before the role is dropped (6), but do not count as double (10).
  expect_invalid(with_chief(R"("evaluator": ["e"])"), {"\"evaluator\""});
  EXPECT_EQ(parsed(with_chief(R"("evaluator": ["h:1"])")).type, "chief");
}

TEST(TfConfig, Check07_OnlyATrulyEmptyClusterIsNone) {
  expect_local(parsed(R"({"cluster": {}})"));
  EXPECT_EQ(parsed(R"({"cluster": {}})").source, ConfigSource::kTfConfig);
  expect_invalid(R"({"cluster": {"evaluator": ["e:1"]}, "task": {"type": "evaluator", "index": 0}})",
                 {"\"chief\" is required"});
  expect_invalid(R"({"cluster": {"worker": []}, "task": {"type": "worker", "index": 0}})", {"\"chief\" is required"});
}

TEST(TfConfig, Check08_ChiefAndMasterExcludeEachOther) {
  expect_invalid(with_chief(R"("master": ["m:1"])"), {"\"chief\" and \"master\""});
  expect_invalid(with_chief(R"("master": [])"), {"\"chief\" and \"master\""});
}

TEST(TfConfig, Check09_ExactlyOneChief) {
  const std::string task = R"("task": {"type": "worker", "index": 0}})";
  expect_invalid(R"({"cluster": {"worker": ["w:1"]}, )" + task, {"\"chief\" is required"});
  expect_invalid(R"({"cluster": {"chief": [], "worker": ["w:1"]}, )" + task, {"\"chief\" is required"});
  expect_invalid(R"({"cluster": {"chief": {}, "worker": ["w:1"]}, )" + task, {"\"chief\" is required"});
  expect_invalid(R"({"cluster": {"master": [], "worker": ["w:1"]}, )" + task, {"\"master\" is required"});
  expect_invalid(R"({"cluster": {"chief": ["a:1", "b:1"], "worker": ["w:1"]}, )" + task, {"only one \"chief\"", "2"});
  expect_invalid(R"({"cluster": {"master": ["a:1", "b:1"], "worker": ["w:1"]}, )" + task, {"only one \"master\"", "2"});
}

TEST(TfConfig, Check10_NoAddressTwice) {
  expect_invalid(with_chief(R"("worker": ["w:1", "h:1"])"), {"\"h:1\"", "\"chief\", index 0", "\"worker\", index 1"});
  expect_invalid(with_chief(R"("ps": ["w:1", "w:1"])"), {"\"w:1\"", "\"ps\", index 0", "\"ps\", index 1"});
}

TEST(TfConfig, Check11_TypeMustBeSet) {
  for (const char* task : {"{}", R"({"index": 0})", R"({"type": null, "index": 0})", R"({"type": "", "index": 0})"}) {
    expect_invalid(example(task), {"task.type", "must be set"});
  }
  expect_invalid(std::string("{") + kExampleCluster + "}", {"task.type", "must be set"});
  for (const char* value : {"1", "true", "[]", "{}"}) {
    expect_mismatch(example(std::string(R"({"index": 0, "type": )") + value + "}"), {"task.type", "string"});
  }
}

TEST(TfConfig, Check12_IndexMustBeSet) {
  for (const char* task : {R"({"type": "worker"})", R"({"type": "worker", "index": null})"}) {
    expect_invalid(example(task), {"task.index", "must be set"});
  }
  expect_invalid(with_index("-1"), {"task.index", "negative"});
  expect_invalid(with_index("\"-1\""), {"task.index", "negative"});
  expect_invalid(with_index("-1.0"), {"task.index", "negative"});
}

TEST(TfConfig, Check13_EvaluatorOfAChiefClusterOnly) {
  for (const char* index : {"0", "12"}) {
    const TaskConfig task = parsed(example(std::string(R"({"type": "evaluator", "index": )") + index + "}"));
    EXPECT_EQ(task.type, "evaluator");
    EXPECT_EQ(std::to_string(task.index), index);
  }
  expect_invalid(R"({"cluster": {"master": ["m:1"]}, "task": {"type": "evaluator", "index": 0}})", {"evaluator", "master"});
}

TEST(TfConfig, Check14_TypeIsARoleOfTheCluster) {
  expect_invalid(example(R"({"type": "helper", "index": 0})"), {"\"helper\"", "chief, ps, worker"});
  expect_invalid(example(R"({"type": "Worker", "index": 0})"), {"\"Worker\"", "chief, ps, worker"});
  expect_invalid(with_chief(R"("worker": [])", R"({"type": "worker", "index": 0})"), {"\"worker\"", "has: chief"});
  expect_invalid(example(R"({"type": "local", "index": 0})"), {"leave `cluster` and `task` out"});
}

TEST(TfConfig, Check15_IndexIsListed) {
  expect_invalid(with_index("3"), {"\"worker\"", "3", "3 addresses"});
  expect_invalid(example(R"({"type": "ps", "index": 2})"), {"\"ps\"", "2", "2 addresses"});
  expect_invalid(example(R"({"type": "chief", "index": 1})"), {"\"chief\"", "1 address"});
  expect_invalid(with_index("2147483647"), {"2147483647"});
}

TEST(TfConfig, ReportsTheFirstThingWrong) {
  // Each text has the faults of all the checks from its own on.
  const std::string bad_task = R"("task": 1)";
  const std::string bad_cluster = R"("cluster": {"chief": ["h:1"], "master": ["bad"], "worker": ["h:1"]})";
  expect_invalid(R"({"model_dir": "", "service": 1, )" + bad_cluster + ", " + bad_task + "}", {"model_dir"});
  expect_mismatch(R"({"service": 1, )" + bad_cluster + ", " + bad_task + "}", {"service"});
  expect_invalid("{" + bad_cluster + ", " + bad_task + "}", {"\"master\", index 0"});
  expect_mismatch(R"({"cluster": {"chief": ["h:1"], "master": ["h:1"]}, )" + bad_task + "}", {"task"});
  expect_invalid(R"({"cluster": {"chief": ["h:1"], "master": ["h:1", "h:1"]}, "task": {}})", {"exclude each other"});
  expect_invalid(R"({"cluster": {"chief": ["h:1", "h:1"]}, "task": {}})", {"only one"});
  expect_invalid(R"({"cluster": {"chief": ["h:1"], "ps": ["h:1"]}, "task": {"type": 1}})", {"given twice"});
  expect_mismatch(example(R"({"type": 1, "index": "x"})"), {"task.type"});
  expect_invalid(example(R"({"index": "x"})"), {"task.type"});
  expect_mismatch(example(R"({"type": "helper", "index": "x"})"), {"task.index"});
  expect_invalid(example(R"({"type": "helper", "index": 99})"), {"no role"});
}

}  // namespace
}  // namespace shoal::cluster
