// The terms on which two results documents can be compared: what differs in their settings,
// versions and machines, what was not in force, and what forbids the comparison. Thread-safe.
#ifndef TESTBED_TOOLS_REPORT_COMPARE_TERMS_H_
#define TESTBED_TOOLS_REPORT_COMPARE_TERMS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace testbed {

// A thing that differs, and its two values.
struct Difference {
  std::string name, first, second;
  size_t cells = 1;  // how many of CompareTerms::cells differ so
};

struct CompareTerms {
  // `settings` also has the memory that two engines held, where it is more than a tenth apart.
  std::vector<Difference> versions, settings, machines;
  // The hosts' names. Two machines may be alike in all of `machines` and yet differ in speed; one
  // machine may have another name in each container.
  std::vector<Difference> hosts;
  // Settings such as --ram that were refused (`not_in_force` of a document) on one side alone.
  std::vector<Difference> refused;
  std::vector<std::string> refused_on_both;  // "--ram: only root may"; both ran on the same terms
  size_t cells = 1;                          // pairs of documents that these are the terms of
  bool same_machine() const { return machines.empty(); }
  // With other machines (processors, memory, kernel, device, file system), or with a setting that
  // was in force on one side alone, the engines alone do not explain a difference of the figures,
  // so no difference is attributed to them.
  bool comparable() const { return same_machine() && refused.empty(); }
};

// Returns the terms. Throws nlohmann::json::exception when a document is damaged.
CompareTerms TermsOf(const nlohmann::json& first, const nlohmann::json& second);

// Returns the terms of all of several pairs: what differs in any of them. Equal differences are
// one.
CompareTerms UnionOf(const std::vector<CompareTerms>& all);

// Returns the version of testbed that wrote the document, and what is known of its build, such as
// "1.0, 3f2a91c, GNU 12.2.0, glibc 2.36, Release". Throws nlohmann::json::exception when the
// document is damaged.
std::string BuildText(const nlohmann::json& document);

// Returns "data" of the document as far as it tells which rows were asked for: where each row has a
// random size of its own (--value-size 100-1000), every seed makes another sum of them, so the
// bytes of the values are left out. Returns null when the document has none.
nlohmann::json DataAskedFor(const nlohmann::json& document);

// Returns a sentence, which names the files, that says why the documents cannot be compared: other
// rows (OptionsOfRows of tools/ab/option_rules.h, by which `testbed ab` goes, too), wrong answers.
// Returns an empty string when they can.
std::string WhyNotComparable(const nlohmann::json& first, const nlohmann::json& second,
                             const std::string& first_file, const std::string& second_file);

// Returns the lines that name what differs, with the number of the cells unless all differ so; at
// most kMostValues lines of a name, and a line for its others. Returns an empty string when nothing
// differs.
constexpr size_t kMostValues = 3;
std::string TermsText(const CompareTerms& terms);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_COMPARE_TERMS_H_
