#include "tools/report/compare_terms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "tools/ab/option_rules.h"
#include "tools/output/json_text.h"
#include "tools/output/table.h"
#include "tools/report/figures.h"
#include "tools/statistics/document_cells.h"
#include "tools/statistics/estimate.h"

namespace testbed {
namespace {

using nlohmann::json;

// Fields of "build" that the speed of a run depends on: a debug build is slower than others, and
// commits between two releases have the same version number.
constexpr const char* kBuildFacts[] = {"commit", "compiler", "allocator", "type"};

// Facts of "machine" that the speed of a run depends on. Others, such as free space, differ from
// run to run.
constexpr const char* kMachineFacts[] = {
    "kernel",       "cpu_model",       "cpus",
    "cpus_online",  "virtual_machine", "cpu_governor",
    "memory_bytes", "swap_bytes",      "transparent_huge_pages",
    "clock_source", "file_system",     "mount_options"};

std::string ValueText(const json& value) {
  if (value.is_null()) return "not known";
  if (value == "") return "not set";
  return OneLine(value.is_string() ? value.get<std::string>() : JsonText(value));
}

// Adds a difference unless the values are equal.
void Add(const std::string& name, const json& first, const json& second,
         std::vector<Difference>* differences) {
  if (first != second) differences->push_back({name, ValueText(first), ValueText(second)});
}

json ValueAt(const json& node, std::initializer_list<const char*> path) {
  const json* at = &node;
  for (const char* name : path) {
    if (!at->is_object() || !at->contains(name)) return nullptr;
    at = &at->at(name);
  }
  return *at;
}

// Returns whether two sizes of memory are nearly equal: a virtual machine gets slightly more or
// less at each start.
bool NearlyEqual(const json& first, const json& second) {
  if (!first.is_string() || !second.is_string()) return false;
  const double a = std::strtod(first.get<std::string>().c_str(), nullptr);
  const double b = std::strtod(second.get<std::string>().c_str(), nullptr);
  return a > 0 && b > 0 && std::max(a, b) < 1.02 * std::min(a, b);
}

// Returns an option's value as text. A null in the document means that the option was not given.
std::string OptionText(const json& options, const std::string& name) {
  if (options.contains(name) && options.at(name).is_null()) return "not set";
  return ValueText(ValueAt(options, {name.c_str()}));
}

json EngineVersion(const json& document) {
  for (const json& run : document.at("runs")) {
    const json version = ValueAt(run, {"engine", "version"});
    if (!version.is_null()) return version;
  }
  return nullptr;
}

// Returns the depth of --account of the document's runs, which "options" does not have; null when
// no run tells it.
json AccountDepthOf(const json& document) {
  for (const json& run : document.at("runs")) {
    const json depth = ValueAt(run, {"accounting", "depth"});
    if (!depth.is_null()) return depth;
  }
  return nullptr;
}

// Returns the memory that the measured phases of the document held, or its loads where nothing was
// measured: the mean over these phases. Returns NaN when it is not known.
double MemoryHeld(const json& document) {
  std::map<std::string, std::vector<double>> held;  // by kind of phase
  for (const json& run : document.at("runs")) {
    if (!run.contains("phases")) continue;  // a run that failed
    for (const json& phase : run.at("phases")) {
      const double mean = Number(phase, "/memory/held_mean");
      if (std::isfinite(mean)) held[phase.value("kind", "")].push_back(mean);
    }
  }
  return MeanOf(held.contains("measure") ? held["measure"] : held["load"]);
}

// Adds the memory that two engines held, where it is more than a tenth apart. With direct IO they
// hold their caches and what they take beside these, which is not the same with the same --ram.
void AddMemoryHeld(const json& first, const json& second, std::vector<Difference>* differences) {
  constexpr double kApart = 0.1;
  if (ValueAt(first, {"options", "engine"}) == ValueAt(second, {"options", "engine"})) return;
  const double a = MemoryHeld(first), b = MemoryHeld(second);
  const bool known = std::isfinite(a) && std::isfinite(b);
  if (!known || std::min(a, b) >= (1 - kApart) * std::max(a, b)) return;
  differences->push_back({"memory held", Size(a), Size(b)});
}

void AddMachines(const json& first, const json& second, std::vector<Difference>* differences) {
  for (const char* fact : kMachineFacts) {
    const json a = ValueAt(first, {"machine", fact}), b = ValueAt(second, {"machine", fact});
    if (std::string(fact) == "memory_bytes" && NearlyEqual(a, b)) continue;
    Add(fact, a, b, differences);
  }
  // The names of two exclusive devices are not compared, because each scratch device has another
  // name.
  const json exclusive_a = ValueAt(first, {"device", "exclusive"}),
             exclusive_b = ValueAt(second, {"device", "exclusive"});
  Add("a device of its own", exclusive_a, exclusive_b, differences);
  if (exclusive_a != true || exclusive_b != true) {
    Add("device", ValueAt(first, {"device", "name"}), ValueAt(second, {"device", "name"}),
        differences);
  }
  const json queue_a = ValueAt(first, {"device", "queue"}),
             queue_b = ValueAt(second, {"device", "queue"});
  for (const json* queue : {&queue_a, &queue_b}) {
    if (!queue->is_object()) return;
  }
  json names = queue_a;
  names.update(queue_b);
  for (const auto& [name, value] : names.items()) {
    Add("device's " + name, ValueAt(queue_a, {name.c_str()}), ValueAt(queue_b, {name.c_str()}),
        differences);
  }
}

// Returns the reasons why settings of the document were not in force, by option.
std::map<std::string, std::string> RefusedOf(const json& document) {
  std::map<std::string, std::string> refused;
  for (const json& setting : document.value("not_in_force", json::array())) {
    refused[OneLine(setting.value("option", ""))] = OneLine(setting.value("why", ""));
  }
  return refused;
}

// Returns whether --readahead set the readahead of the device on some side. If the setting was
// refused on a side, the device kept its own there, and the sides are not comparable.
bool SetReadahead(const json& first, const json& second) {
  bool set = false;
  for (const json* document : {&first, &second}) {
    if (RefusedOf(*document).contains("readahead")) return false;
    set = set || !ValueAt(*document, {"options", "readahead"}).is_null();
  }
  return set;
}

// Returns whether the databases were on scratch devices with other file systems, as the user asked.
bool AskedForFileSystems(const json& first, const json& second) {
  const json a = ValueAt(first, {"options", "scratch_fs"});
  const json b = ValueAt(second, {"options", "scratch_fs"});
  return a.is_string() && b.is_string() && a != b;
}

// Moves these facts from the differences of machines to those of settings. The run asked for them,
// and the machine has them only while the run lasts.
void MakeSettings(const std::set<std::string>& facts, CompareTerms* terms) {
  const auto is_one = [&facts](const Difference& d) { return facts.contains(d.name); };
  std::copy_if(terms->machines.begin(), terms->machines.end(), std::back_inserter(terms->settings),
               is_one);
  std::erase_if(terms->machines, is_one);
}

void AddRefused(const json& first, const json& second, CompareTerms* terms) {
  const std::map<std::string, std::string> a = RefusedOf(first), b = RefusedOf(second);
  std::map<std::string, std::string> all = a;
  all.insert(b.begin(), b.end());
  for (const auto& [option, why] : all) {
    if (a.contains(option) && b.contains(option)) {
      terms->refused_on_both.push_back(fmt::format("--{}: {}", option, why));
      continue;
    }
    const std::string refused = "not in force (" + why + ")", in_force = "as asked";
    terms->refused.push_back({"--" + option, a.contains(option) ? refused : in_force,
                              b.contains(option) ? refused : in_force});
  }
}

}  // namespace

CompareTerms TermsOf(const json& first, const json& second) {
  CompareTerms terms;
  Add("testbed", ValueAt(first, {"testbed"}), ValueAt(second, {"testbed"}), &terms.versions);
  Add("engine's version", EngineVersion(first), EngineVersion(second), &terms.versions);
  for (const char* part : kBuildFacts) {
    Add(std::string("build's ") + part, ValueAt(first, {"build", part}),
        ValueAt(second, {"build", part}), &terms.versions);
  }
  json a = first.at("options"), b = second.at("options");
  // Only a run of several tasks has the option, so its default is added.
  for (json* options : {&a, &b}) options->emplace("tasks", 1);
  json names = a;
  names.update(b);
  for (const auto& [name, value] : names.items()) {
    if (ValueAt(a, {name.c_str()}) == ValueAt(b, {name.c_str()})) continue;
    terms.settings.push_back({name, OptionText(a, name), OptionText(b, name)});
  }
  // A document of an older version may lack the depth, which is then not known.
  const json depth_a = AccountDepthOf(first), depth_b = AccountDepthOf(second);
  if (!depth_a.is_null() && !depth_b.is_null()) Add("account", depth_a, depth_b, &terms.settings);
  AddMemoryHeld(first, second, &terms.settings);
  AddMachines(first, second, &terms.machines);
  if (SetReadahead(first, second)) MakeSettings({"device's read_ahead_kb"}, &terms);
  if (AskedForFileSystems(first, second)) MakeSettings({"file_system", "mount_options"}, &terms);
  AddRefused(first, second, &terms);
  const json host_a = ValueAt(first, {"host"}), host_b = ValueAt(second, {"host"});
  if (host_a.is_string() && host_b.is_string()) Add("name", host_a, host_b, &terms.hosts);
  return terms;
}

std::string BuildText(const json& document) {
  std::string text = document.at("testbed");
  for (const char* part : kBuildFacts) {
    const json value = ValueAt(document, {"build", part});
    if (value.is_string()) text += ", " + value.get<std::string>();
  }
  return text;
}

CompareTerms UnionOf(const std::vector<CompareTerms>& all) {
  CompareTerms terms;
  terms.cells = all.size();
  const auto add = [](const std::vector<Difference>& more, std::vector<Difference>* to) {
    for (const Difference& d : more) {
      const auto known = std::find_if(to->begin(), to->end(), [&](const Difference& other) {
        return d.name == other.name && d.first == other.first && d.second == other.second;
      });
      if (known != to->end()) {
        ++known->cells;
      } else {
        to->push_back({d.name, d.first, d.second});
      }
    }
  };
  for (const CompareTerms& one : all) {
    add(one.versions, &terms.versions);
    add(one.settings, &terms.settings);
    add(one.machines, &terms.machines);
    add(one.refused, &terms.refused);
    add(one.hosts, &terms.hosts);
    for (const std::string& refused : one.refused_on_both) {
      auto& known = terms.refused_on_both;
      if (std::find(known.begin(), known.end(), refused) == known.end()) known.push_back(refused);
    }
  }
  return terms;
}

json DataAskedFor(const json& document) {
  json data = ValueAt(document, {"data"});
  const json sizes = ValueAt(document, {"options", "value_size"});
  const bool random = sizes.is_string() && sizes.get<std::string>().find('-') != std::string::npos;
  if (random && data.is_object()) data.erase("value_bytes");
  return data;
}

std::string WhyNotComparable(const json& first, const json& second, const std::string& first_file,
                             const std::string& second_file) {
  const json data[] = {DataAskedFor(first), DataAskedFor(second)};
  for (const char* what : {"rows", "key_bytes", "value_bytes"}) {
    const json a = ValueAt(data[0], {what}), b = ValueAt(data[1], {what});
    // If sizes are random on one side only, the difference of --value-size is reported below.
    const bool random = std::string_view(what) == "value_bytes" && (a.is_null() || b.is_null());
    if (a == b || random) continue;
    return fmt::format("{} and {} cannot be compared, because their data differ: {} {} against {}",
                       first_file, second_file, what, ValueText(a), ValueText(b));
  }
  const auto fields = [](const json& document) {
    const json value = ValueAt(document, {"options", "fields"});
    return value.is_null() ? json(1) : value;  // in older documents values have one field
  };
  if (fields(first) != fields(second)) {
    return fmt::format(
        "{} and {} cannot be compared, because their data differ: values of {} against {} fields",
        first_file, second_file, ValueText(fields(first)), ValueText(fields(second)));
  }
  for (const std::string option : OptionsOfRows()) {
    std::string name = option;
    std::replace(name.begin(), name.end(), '-', '_');
    const json a = ValueAt(first, {"options", name.c_str()});
    const json b = ValueAt(second, {"options", name.c_str()});
    // A document of an older version may lack the option; WhyNotComparable then compares its "data"
    // alone.
    if (a == b || a.is_null() || b.is_null()) continue;
    return fmt::format(
        "{} and {} cannot be compared, because their data differ: --{} {} against {}", first_file,
        second_file, option, ValueText(a), ValueText(b));
  }
  for (const auto& [document, file] :
       {std::pair(&first, &first_file), std::pair(&second, &second_file)}) {
    const std::vector<std::string> wrong = PhasesWithWrongAnswers(*document);
    if (wrong.empty()) continue;
    return fmt::format("{} cannot be compared, because its engine gave wrong answers in {}", *file,
                       fmt::join(wrong, ", "));
  }
  return "";
}

std::string TermsText(const CompareTerms& terms) {
  std::string text;
  for (const auto& [what, differences] :
       {std::pair("version", &terms.versions), std::pair("setting", &terms.settings),
        std::pair("machine", &terms.machines), std::pair("host", &terms.hosts),
        std::pair("what was in force", &terms.refused)}) {
    std::map<std::string, size_t> lines;  // by name
    for (const Difference& d : *differences) {
      if (++lines[d.name] > kMostValues) continue;
      const std::string where = d.cells == terms.cells ? ""
                                                       : fmt::format(" (in {} of {})", d.cells,
                                                                     Counted(terms.cells, "cell"));
      text +=
          fmt::format("{} differs: {}: {} against {}{}\n", what, d.name, d.first, d.second, where);
    }
    for (const auto& [name, n] : lines) {
      if (n <= kMostValues) continue;
      text += fmt::format("{} differs: {}: {} of values\n", what, name,
                          Counted(n - kMostValues, "other pair"));
    }
  }
  for (const std::string& refused : terms.refused_on_both) {
    text += fmt::format("not in force on both sides: {}\n", refused);
  }
  if (!terms.refused.empty()) {
    text +=
        "! A setting was in force on one side alone, so no difference below is called the "
        "engines': "
        "run both sides with the same rights.\n";
  }
  if (!terms.same_machine()) {
    text +=
        "! The machines differ, so no difference below is called the engines': run both sides on "
        "one machine, or measure them against each other there with `testbed ab`.\n";
  }
  return text;
}

}  // namespace testbed
