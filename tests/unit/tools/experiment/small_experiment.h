// A small experiment that the tests of experiments share: two axes, one combination skipped, three
// findings.
#ifndef TESTBED_TESTS_UNIT_TOOLS_EXPERIMENT_SMALL_EXPERIMENT_H_
#define TESTBED_TESTS_UNIT_TOOLS_EXPERIMENT_SMALL_EXPERIMENT_H_

#include <functional>
#include <string>

#include "device/error.h"
#include "tools/experiment/experiment.h"

namespace testbed {

inline constexpr char kSmall[] = R"toml(
name = "small"
title = "A small one"
[options]
workload = "insert,point-read"
engine = "btree"
rows = 1000
ram = "64M"
[load]
threads = 1
[scale.tiny]
options = { operations = 100 }
axes = { io = ["direct"] }
[scale.full]
options = { ram = "1G" }
rounds = 1
[[axis]]
name = "io"
values = ["direct", "buffered"]
[[axis]]
name = "page-size"
values = ["4k", { label = "big", page-size = "16k", threads = 2 }]
[[skip]]
where = { io = "buffered", page-size = "big" }
why = "for the test"
[metrics]
qps = { value = "point_read.rate", unit = "/s" }
reads = "point_read.account.device.reads / point_read.count"
[[table]]
title = "Rates"
rows = ["io"]
columns = "page-size"
metrics = ["qps"]
published = { columns = ["who", "4k"], rows = [["me", 7]] }
[[finding]]
id = "Z1"
claim = "direct is faster"
systems = "a server; btree"
mechanism = [ { when = "max(reads) < 1", says = "reads {max(reads)}" } ]
  [[finding.part]]
  says = "direct is faster than buffered"
  published = "7 against 5"
  holds = "min(qps[io=direct]) > max(qps[io=buffered])"
  ours = "{min(qps[io=direct])} against {max(qps[io=buffered])}"
  [[finding.part]]
  says = "small pages are faster"
  holds = "qps[io=direct, page-size=4k] > qps[io=direct, page-size=big]"
  false_if = "the larger page saves a read"
  [[finding.part]]
  says = "another one is slower"
  stand_in = "btree"
  holds = "min(qps) > 1000000"
[[finding]]
id = "Z2"
claim = "another engine is faster"
waits_for = ["nosuch"]
  [[finding.part]]
  says = "buffered with big pages"
  holds = "qps[io=buffered, page-size=big] > 1"
[[finding]]
id = "Z3"
claim = "cannot be"
untestable = "no way"
)toml";

inline Experiment Small() { return ParseExperiment(kSmall, "small.toml"); }

// Returns the sentence of the error that the call throws, or "no error".
inline std::string ErrorOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_TOOLS_EXPERIMENT_SMALL_EXPERIMENT_H_
