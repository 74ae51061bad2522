#include "tools/html/comparison_data.h"

#include <fmt/format.h>

#include <cmath>
#include <sstream>
#include <vector>

#include "tools/ab/ab_report.h"
#include "tools/ab/answers.h"
#include "tools/html/page_data.h"
#include "tools/output/json_text.h"
#include "tools/output/table.h"
#include "tools/report/compare.h"
#include "tools/statistics/metrics.h"
#include "tools/statistics/sentence.h"

namespace testbed {
namespace {

using nlohmann::json;

json LoadsJson(const json& document) {
  json sides = json::array();
  for (const SideEffects& side : RateByLoad(document)) {
    json effects = json::array();
    for (const LoadEffect& load : side.loads) {
      effects.push_back({{"load", load.load},
                         {"log", FiniteJson(std::log(load.effect))},
                         {"counted", load.counted}});
    }
    sides.push_back({{"side", side.side}, {"effects", std::move(effects)}});
  }
  return sides;
}

std::string TitleOf(const json& document) {
  std::string others;
  const json& sides = document.at("sides");
  for (size_t i = 1; i < sides.size(); ++i) {
    others += (i == 1                  ? ""
               : i + 1 == sides.size() ? " and "
                                       : ", ") +
              sides[i].at("label").get<std::string>();
  }
  return fmt::format("{}: {} against {}", document.at("workload").get<std::string>(), others,
                     sides.at(0).at("label").get<std::string>());
}

json SplitLines(const std::string& text) {
  json lines = json::array();
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

json AbComparisonJson(const std::string& source, const json& document) {
  const std::vector<AbAnswer> answers = AbAnswers(document);
  const AbWords words = WordsOfAb(document, answers);
  json j = {{"source", source},
            {"title", TitleOf(document)},
            {"way", words.way},
            {"notes", words.notes},
            {"until", document.at("until")},
            {"sentences", json::array()},
            {"sides", json::array()},
            {"metrics", TextsOfTable(MetricsOfAb(document, answers))},
            {"answers", AnswersJson(document)},
            {"tables", json::array()},
            {"loads", LoadsJson(document)}};
  for (const char* fact : {"testbed", "command", "started", "machine", "device"}) {
    if (document.contains(fact)) j[fact] = document[fact];
  }
  for (const AbWords::Saying& sentence : words.sentences) {
    j["sentences"].push_back({{"text", sentence.text}, {"alarm", sentence.alarm}});
  }
  for (size_t i = 0; i < words.sides.size(); ++i) {
    j["sides"].push_back({{"label", words.sides[i].label},
                          {"settings", words.sides[i].settings},
                          {"options", document.at("sides")[i].at("options")}});
  }
  for (const Table& table : {MovedOfAb(document), RestOfAb(document)}) {
    if (!table.empty()) j["tables"].push_back(TextsOfTable(table));
  }
  return j;
}

json DocumentsComparisonJson(const std::string& first_source, const json& first,
                             const std::string& second_source, const json& second) {
  const std::string why = WhyNotComparable(first, second, first_source, second_source);
  json j = {{"first", first_source}, {"second", second_source}, {"why", why}};
  if (!why.empty()) return j;
  const CompareSettings settings;
  const CellComparison comparison = CompareDocuments(first, second, settings);
  if (comparison.cells == 0) return nullptr;
  j["comparable"] = comparison.terms.comparable();
  j["terms"] = SplitLines(CircumstancesText(comparison));
  j["until"] = settings.margin;
  j["table"] = TextsOfTable(ComparisonTable(comparison));
  j["lacking"] = LackingLoadsText(comparison);
  j["sentences"] = json::array();
  j["answers"] = json::array();
  for (const RateSentence& sentence : RateSentences(comparison)) {
    j["sentences"].push_back({{"text", sentence.text}, {"told", sentence.told}});
  }
  for (const ComparedRow& row : comparison.rows) {
    json answer = EffectJson(row.answer);
    answer.update({{"cell", row.cell},
                   {"metric", row.metric},
                   {"answer", OutcomeText(row.answer, *FindMetric(row.metric))},
                   {"a", FiniteJson(row.answer.a)},
                   {"b", FiniteJson(row.answer.b)}});
    j["answers"].push_back(std::move(answer));
  }
  return j;
}

}  // namespace testbed
