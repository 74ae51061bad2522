// Documents of comparisons by `testbed ab`, with figures of known differences.
#ifndef TESTBED_TESTS_UNIT_TOOLS_AB_COMPARISON_DOCUMENTS_H_
#define TESTBED_TESTS_UNIT_TOOLS_AB_COMPARISON_DOCUMENTS_H_

#include <nlohmann/json.hpp>

namespace testbed {

// Returns a comparison of `loads` loads with 4 blocks each, in which side b's rate is `ratio` times
// side a's. Each load differs from the others for both sides alike, and for b alone by +-`noise`.
inline nlohmann::json Comparison(int loads, double ratio, double noise, double asks_ratio = 1) {
  nlohmann::json document = {{"schema", "testbed-ab/1"},
                             {"workload", "point-read"},
                             {"way", "interleave"},
                             {"assumes", "assumes nothing"},
                             {"until", 0.02},
                             {"slice_seconds", 0.2},
                             {"fail_if", nlohmann::json::array()},
                             {"notes", nlohmann::json::array()},
                             {"errors", nlohmann::json::array()},
                             {"partial", false},
                             {"loads", loads},
                             {"seconds", 10.0},
                             {"samples", nlohmann::json::array()}};
  for (const char* label : {"a", "b"}) {
    document["sides"].push_back(
        {{"label", label}, {"settings", "engine=null"}, {"options", {{"engine", "null"}}}});
  }
  for (int load = 0; load < loads; ++load) {
    for (int block = 0; block < 4; ++block) {
      for (const bool b : {false, true}) {
        const double sign = (load + block) % 2 == 0 ? 1 : -1;
        double rate = 1000 + 50 * load;
        double asks = 3;
        if (b) {
          rate *= ratio * (1 + noise * sign * (1 + 0.1 * load));
          asks *= asks_ratio;
        }
        document["samples"].push_back({{"side", b ? "b" : "a"},
                                       {"load", load},
                                       {"block", block},
                                       {"seconds", 0.2},
                                       {"count", 100},
                                       {"metrics", {{"rate", rate}, {"engine_asks", asks}}},
                                       {"counters", {{"context_switches", b ? 200 : 100}}}});
      }
    }
  }
  return document;
}

// Returns a comparison whose loads differ: the rate of b is `ratio` times that of a, and `spread`
// more or less.
inline nlohmann::json LoadsApart(int loads, double ratio, double spread) {
  nlohmann::json document = Comparison(loads, ratio, 0);
  for (nlohmann::json& sample : document["samples"]) {
    if (sample["side"] == "a") continue;
    const double rate = sample["metrics"]["rate"];
    sample["metrics"]["rate"] =
        rate * (sample["load"].get<int>() % 2 == 0 ? 1 + spread : 1 - spread);
  }
  return document;
}

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_TOOLS_AB_COMPARISON_DOCUMENTS_H_
