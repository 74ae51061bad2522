#include "tools/experiment/verdict/added_rounds.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "tools/experiment/verdict/resample.h"

namespace testbed {
namespace {

// Returns whether a cell is finished in the round. Otherwise no verdict has been given on this
// round.
bool HasRound(int round, const std::string& cells) {
  const std::string end = fmt::format(".round-{}.json", round);
  std::error_code error;
  std::filesystem::directory_iterator at(cells, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    if (at->path().filename().string().ends_with(end)) return true;
  }
  return false;
}

}  // namespace

void RaiseRounds(int rounds, const std::string& cells, nlohmann::json* header) {
  const int before = header->at("rounds").get<int>();
  if (rounds <= before) return;
  if (before > 1 && HasRound(before, cells)) (*header)["looked_at"].push_back(before);
  (*header)["rounds"] = rounds;
}

std::set<int> LooksOf(const nlohmann::json& header, int rounds) {
  std::set<int> looks = {rounds};
  for (int before : header.value("looked_at", std::vector<int>())) {
    if (before > 1 && before < rounds) looks.insert(before);
  }
  return looks;
}

std::string LooksText(const std::set<int>& looks) {
  if (looks.size() < 2) return "";
  std::string numbers;
  for (int rounds : looks) {
    if (!numbers.empty()) numbers += rounds == *looks.rbegin() ? " and " : ", ";
    numbers += fmt::format("{}", rounds);
  }
  const double sure = 100 * SureAtLook(looks.size());
  return fmt::format(
      "verdicts may have been seen after {} rounds: at this look a part holds when it is true in "
      "at least {:.6g} % of resampled rounds, and does not hold when in at most {:.3g} %",
      numbers, sure, 100 - sure);
}

}  // namespace testbed
