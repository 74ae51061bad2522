// The terms on which two results documents can be compared: what differs in their settings,
// versions and machines, and what forbids it. Thread-safe.
#ifndef TESTBED_TOOLS_REPORT_COMPARE_TERMS_H_
#define TESTBED_TOOLS_REPORT_COMPARE_TERMS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace testbed {

// A thing that differs, and its two values.
struct Difference {
  std::string name, first, second;
};

struct CompareTerms {
  std::vector<Difference> versions, settings, machines;
  // With other machines (processors, memory, kernel, device, file system) a difference of the
  // figures is not the engines' alone, so none is called theirs.
  bool same_machine() const { return machines.empty(); }
};

// Returns the terms. Throws nlohmann::json::exception when a document is damaged.
CompareTerms TermsOf(const nlohmann::json& first, const nlohmann::json& second);

// Returns a sentence that says why the documents cannot be compared, which names their files: other
// rows, other sizes of keys or values, wrong answers. An empty string when they can.
std::string WhyNotComparable(const nlohmann::json& first, const nlohmann::json& second,
                             const std::string& first_file, const std::string& second_file);

// Returns the lines that name all differences; an empty string when there is none.
std::string TermsText(const CompareTerms& terms);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_COMPARE_TERMS_H_
