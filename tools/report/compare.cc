#include "tools/report/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "tools/output/json_text.h"
#include "tools/output/statistics.h"
#include "tools/output/table.h"
#include "tools/report/foreign_cpu.h"

namespace testbed {

using nlohmann::json;

std::string CompareText(const json& base, const json& other) {
  Table table("Second against first: figures and ratios",
              {"phase", "ops/s", "", "ratio", "p99 us", "", "ratio", "device reads/op", "", "ratio",
               "apart"});
  const std::vector<Repeated> seconds = Repeats(other);
  for (const Repeated& a : Repeats(base)) {
    for (const Repeated& b : seconds) {
      if (a.name != b.name) continue;
      const bool known = a.rate.n > 1 && b.rate.n > 1;
      const bool apart =
          std::abs(a.rate.mean - b.rate.mean) > a.rate.half_width + b.rate.half_width;
      table.Row({a.name, Short(a.rate.mean), Short(b.rate.mean), Short(b.rate.mean / a.rate.mean),
                 Short(a.p99_us.mean), Short(b.p99_us.mean), Short(b.p99_us.mean / a.p99_us.mean),
                 Short(a.device_reads.mean), Short(b.device_reads.mean),
                 Short(b.device_reads.mean / a.device_reads.mean),
                 known ? (apart ? "yes" : "no") : "-"});
    }
  }
  std::string text;
  for (const auto& [which, document] : {std::pair("first", &base), std::pair("second", &other)}) {
    const std::string line = ForeignCpuLine(*document);
    if (!line.empty()) text += fmt::format("{}: {}", which, line);
  }
  for (const auto& [name, value] : base.at("options").items()) {
    const json theirs = other.at("options").value(name, json());
    if (value != theirs)
      text += fmt::format("{}: {} against {}\n", name, JsonText(value), JsonText(theirs));
  }
  return text + (text.empty() ? "" : "\n") + table.Text();
}

}  // namespace testbed
