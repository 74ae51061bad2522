#include "tools/experiment/plan/rounds.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "device/error.h"
#include "tools/option_values.h"
#include "workloads/random.h"

namespace testbed {
namespace {

// Returns by how much the seed of a cell grows from round to round: by 1 or, where an axis has
// seeds, by the number of seeds from its least to its greatest. So no cell has a seed that another
// cell had in an earlier round. A figure may be of several cells, and its rounds must be
// independent.
uint64_t SeedStep(const Experiment& e) {
  uint64_t least = UINT64_MAX, greatest = 0;
  for (const Axis& axis : e.axes) {
    for (const AxisValue& value : axis.values) {
      const auto found = value.options.find("seed");
      if (found == value.options.end()) continue;
      const uint64_t seed = ParseCount("--seed", found->second, 0, UINT64_MAX);
      least = std::min(least, seed);
      greatest = std::max(greatest, seed);
    }
  }
  return least > greatest ? 1 : std::max<uint64_t>(1, greatest - least + 1);
}

// Returns the cells for a round, with a seed of data and operations and databases of its own. So a
// round is a random draw of the data, the operations and the shapes of the databases that the
// experiment could have met.
std::vector<Cell> InRound(std::vector<Cell> cells, int round, uint64_t seed_step) {
  for (Cell& cell : cells) {
    cell.round = round;
    if (!cell.runs()) continue;
    cell.seed += seed_step * (static_cast<uint64_t>(round) - 1);
    cell.options["seed"] = std::to_string(cell.seed);
    if (cell.load_key.empty()) continue;
    cell.load_options["seed"] = cell.options["seed"];
    cell.load_key += fmt::format("-{}", round);
  }
  return cells;
}

// Puts the cells of a round into blocks, by their labels of the axes `split`. A load that cells of
// several blocks would share is made again in each of them, with equal options and seed, as its
// blocks may run on different hosts.
void SetBlocks(const std::vector<std::string>& split, std::vector<Cell>* cells) {
  for (Cell& cell : *cells) {
    cell.block = fmt::format("round-{}", cell.round);
    if (split.empty()) continue;
    std::string labels;
    for (const std::string& axis : split) labels += axis + "=" + cell.labels.at(axis) + "\n";
    const std::string hash =
        fmt::format("-{:08x}", static_cast<uint32_t>(XXH3_64bits(labels.data(), labels.size())));
    cell.block += hash;
    if (!cell.load_key.empty()) cell.load_key += hash;
  }
}

// Puts the cells of a round into the order in which they run. Cells that share a database stay
// together, at the place of the first of them, and so do cells that share a scratch device in a
// shuffled round. Later rounds are shuffled, because the machine changes during a round, and an
// equal order in all rounds would make that look like a difference between the cells.
void Order(const Experiment& e, const PlanOptions& options, int round, std::vector<Cell>* cells) {
  std::vector<std::vector<Cell>> groups;
  std::map<std::string, size_t> group_of;
  for (Cell& cell : *cells) {
    if (!cell.load_key.empty() && group_of.contains(cell.load_key)) {
      groups[group_of[cell.load_key]].push_back(std::move(cell));
      continue;
    }
    if (!cell.load_key.empty()) group_of[cell.load_key] = groups.size();
    groups.push_back({std::move(cell)});
  }
  if (options.shuffle || (round > 1 && !e.in_order)) {
    Random random(options.shuffle.value_or(0) + static_cast<uint64_t>(round) - 1);
    const auto shuffle = [&](auto* list) {
      for (size_t i = list->size(); i > 1; --i) std::swap((*list)[i - 1], (*list)[random.Below(i)]);
    };
    shuffle(&groups);
    for (auto& group : groups) shuffle(&group);
    std::map<std::string, size_t> device;
    const auto device_of = [&](const std::vector<Cell>& group) {
      const auto scratch = group[0].options.find("scratch");
      const std::string asked = scratch == group[0].options.end() ? "" : scratch->second;
      return device.emplace(asked, device.size()).first->second;
    };
    for (const auto& group : groups) device_of(group);
    std::stable_sort(groups.begin(), groups.end(),
                     [&](const auto& a, const auto& b) { return device_of(a) < device_of(b); });
  }
  cells->clear();
  for (auto& group : groups) {
    for (Cell& cell : group) cells->push_back(std::move(cell));
  }
}

}  // namespace

std::vector<Cell> InRounds(const Experiment& e, const PlanOptions& options,
                           const std::vector<Cell>& cells) {
  if (e.in_order && options.shuffle) {
    throw Error(Error::kUsage,
                fmt::format("--shuffle makes random orders, and experiment {} compares cells by "
                            "the order in which they run (in-order); leave --shuffle out",
                            e.name));
  }
  std::vector<Cell> rounds;
  for (int round = 1; round <= RoundsOf(e, options); ++round) {
    std::vector<Cell> next = InRound(cells, round, SeedStep(e));
    SetBlocks(options.split, &next);
    Order(e, options, round, &next);
    std::move(next.begin(), next.end(), std::back_inserter(rounds));
  }
  return rounds;
}

}  // namespace testbed
